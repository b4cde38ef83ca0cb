//! Where the fields of the interpreter's structures are: data, not code.
//!
//! ```text
//!   3.6 - 3.12   one row per layout                        rows.rs
//!   3.13 -       read from the target, then validated      debug_offsets.rs
//! ```
//!
//! All numbers are byte offsets from the start of the structure that the field is in.

mod debug_offsets;
mod rows;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use debug_offsets::read_debug_offsets;
pub(crate) use rows::layout_of;

use std::ops::Range;

/// Everything that differs between versions of CPython.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// `_PyRuntimeState.interpreters.head`; 0 in 3.6, where the list has its own symbol.
    pub interpreters_head: usize,
    pub interpreter: InterpreterLayout,
    pub gil: GilPlace,
    pub thread: ThreadLayout,
    pub frames: FrameModel,
    pub code: CodeLayout,
    pub text: TextLayout,
}

/// `PyInterpreterState`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InterpreterLayout {
    pub next: usize,
    pub threads_head: usize,
}

/// Where the global interpreter lock is. Its structure, `_gil_runtime_state` of `pycore_gil.h`, is the same in
/// all versions: interval, last_holder, locked, switch_number, cond, mutex, switch_cond, switch_mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GilPlace {
    /// 3.6: static variables, each with a symbol of its own.
    Symbols,
    /// 3.7 to 3.11: inside `_PyRuntime`.
    Runtime { gil: usize },
    /// 3.12 on: each interpreter points to its lock.
    Interpreter { pointer: usize, fields: GilFields },
    /// Not known for this release.
    Unknown,
}

/// `_gil_runtime_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GilFields {
    pub last_holder: usize,
    pub locked: usize,
    /// Free-threaded builds only: the lock is used only while this is not 0.
    pub enabled: Option<usize>,
    pub size: usize,
}

impl GilFields {
    /// `sizeof` and offsets as compiled from the headers of 3.7 to 3.13 on x86_64.
    pub const DEFAULT: GilFields = GilFields { last_holder: 0x8, locked: 0x10, enabled: None, size: 0xd0 };
}

/// `PyThreadState`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadLayout {
    pub next: usize,
    pub interp: usize,
    /// The pthread_t of the thread.
    pub thread_id: usize,
    /// The kernel's tid, in the target's PID namespace; 3.11 on.
    pub native_thread_id: Option<usize>,
    /// How much of the structure is read: up to the end of the last field that is used.
    pub extent: usize,
}

/// How frames are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameModel {
    Heap(HeapFrames),
    Stacked(StackedFrames),
}

/// 3.6 to 3.10: each frame is a `PyFrameObject` of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeapFrames {
    /// `PyThreadState.frame`.
    pub top: usize,
    pub back: usize,
    pub code: usize,
    pub lasti: usize,
    /// Bytes of bytecode that one step of `f_lasti` counts.
    pub lasti_bytes: i32,
    /// 3.10: one `CFrame` on the C stack per frame.
    pub cframes: Option<CFrameLayout>,
}

/// 3.11 on: `_PyInterpreterFrame`s in the data stack of the thread, in generators, and on the C stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StackedFrames {
    pub size: usize,
    pub top: TopFrame,
    pub code: usize,
    pub previous: usize,
    pub instruction: usize,
    pub owner: usize,
    /// Free-threaded builds from 3.14 on: which thread-local copy of the bytecode the instruction is in.
    pub tlbc_index: Option<usize>,
    pub entries: Entries,
    /// `PyThreadState.datastack_chunk`; `datastack_top` follows.
    pub datastack_chunk: usize,
    /// 3.15: `PyThreadState.base_frame`, the owner-3 frame that ends the chain and is not on the C stack.
    pub base_frame: Option<usize>,
}

/// How the innermost frame is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TopFrame {
    /// 3.11 and 3.12: `current_frame` of the `_PyCFrame` that the thread state points to.
    CFrame(CFrameLayout),
    /// 3.13 on: `PyThreadState.current_frame`.
    Thread(usize),
}

/// How entries from C into the interpreter's loop are marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entries {
    /// 3.11: a flag in the outermost frame of each run.
    Flag(usize),
    /// 3.12 on: a frame of its own on the C stack, the shim, follows each run.
    Shims,
}

/// `CFrame` / `_PyCFrame`: a structure in the C frame of the interpreter's loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CFrameLayout {
    /// `PyThreadState.cframe`.
    pub thread_field: usize,
    /// `PyThreadState.root_cframe`, embedded: the end of the chain (its `previous` may be garbage).
    pub root: usize,
    /// 3.11 on.
    pub current_frame: Option<usize>,
    pub previous: usize,
}

impl CFrameLayout {
    pub const SIZE: usize = 0x18;
}

/// `PyCodeObject`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CodeLayout {
    pub ob_type: usize,
    pub filename: usize,
    pub name: usize,
    pub qualname: Option<usize>,
    pub firstlineno: usize,
    /// `co_lnotab` up to 3.9, `co_linetable` after.
    pub linetable: usize,
    pub line_format: LineFormat,
    /// 3.12 on: `co_version`, which no two code objects of a process share.
    pub version: Option<usize>,
    /// 3.11 on: the bytecode, inline.
    pub code_adaptive: usize,
    /// Free-threaded builds from 3.14 on: the thread-local copies of the bytecode.
    pub tlbc: Option<usize>,
}

impl CodeLayout {
    /// The bytes that never change while the code object lives, and differ between most code objects.
    pub fn constant(&self) -> Range<usize> {
        self.firstlineno..self.linetable + 8
    }

    /// How much of a code object is read.
    pub fn extent(&self) -> usize {
        self.tlbc.map_or(self.linetable + 8, |tlbc| tlbc + 8)
    }
}

/// How the line table is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineFormat {
    /// 3.6 to 3.9: `Objects/lnotab_notes.txt`.
    Lnotab,
    /// 3.10: PEP 626.
    LineTable,
    /// 3.11 on: PEP 657, `Objects/locations.md`.
    LocationTable,
}

/// `PyUnicodeObject`, `PyBytesObject` and `PyTypeObject`, as far as they are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TextLayout {
    pub str_length: usize,
    pub str_state: usize,
    /// Bit of `state` at which the `kind` begins; `compact` and `ascii` follow its three bits.
    pub kind_shift: u32,
    pub ascii_data: usize,
    /// Data of compact strings that are not ASCII; in legacy strings, the pointer to the data.
    pub wide_data: usize,
    pub bytes_size: usize,
    pub bytes_data: usize,
    pub tp_name: usize,
}

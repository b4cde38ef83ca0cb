//! `_Py_DebugOffsets`: from 3.13 on an interpreter says itself where its fields are
//! (`Include/internal/pycore_runtime.h` in 3.13, `pycore_debug_offsets.h` after).
//!
//! The structure is a cookie of 8 bytes and then u64s only, in groups that begin with the size of the structure
//! that they describe. What it says comes from the target, so each number is checked before it is used: sizes
//! are bounded, and each field lies inside its structure.

use super::{
    CodeLayout, Entries, FrameModel, GilFields, GilPlace, InterpreterLayout, Layout, LineFormat,
    StackedFrames, TextLayout, ThreadLayout, TopFrame,
};
use crate::python::{PythonError, PythonVersion};
use crate::{Avma, Memory};

/// Where the groups begin, and how they differ, in one minor version.
struct Groups {
    interpreter: usize,
    /// Fields between `threads_head` and `gc`: `threads_main` from 3.14 on.
    interpreter_extra: usize,
    thread: usize,
    /// Fields between `current_frame` and `thread_id`; `base_frame` is the first of them.
    thread_extra: usize,
    frame: usize,
    code: usize,
    pyobject: usize,
    type_object: usize,
    bytes: usize,
    unicode: usize,
    /// Whether `executable` and bytecode follow 3.14: thread-local bytecode in free-threaded builds.
    thread_local_bytecode: bool,
}

const RUNTIME: usize = 0x18;

const GROUPS_3_13: Groups = Groups {
    interpreter: 0x30,
    interpreter_extra: 0,
    thread: 0x98,
    thread_extra: 0,
    frame: 0xe0,
    code: 0x110,
    pyobject: 0x160,
    type_object: 0x170,
    bytes: 0x200,
    unicode: 0x218,
    thread_local_bytecode: false,
};

const GROUPS_3_14: Groups = Groups {
    interpreter: 0x30,
    interpreter_extra: 1,
    thread: 0xb0,
    thread_extra: 0,
    frame: 0xf8,
    code: 0x138,
    pyobject: 0x190,
    type_object: 0x1a0,
    bytes: 0x250,
    unicode: 0x268,
    thread_local_bytecode: true,
};

const GROUPS_3_15: Groups = Groups {
    thread_extra: 3,
    frame: 0x138,
    code: 0x178,
    pyobject: 0x1d0,
    type_object: 0x1e0,
    bytes: 0x2b0,
    unicode: 0x2c8,
    ..GROUPS_3_14
};

/// Enough for every group that is used, in all versions.
const EXTENT: usize = 0x2f0;
const COOKIE: &[u8; 8] = b"xdebugpy";
/// The largest structure, the interpreter state, has about half a megabyte.
const MAX_STRUCT_SIZE: u64 = 4 << 20;

/// Reads and checks the debug offsets at the start of `_PyRuntime`.
pub(crate) fn read_debug_offsets(
    runtime: Avma,
    expected: PythonVersion,
    memory: &impl Memory,
) -> Result<Layout, PythonError> {
    let groups = match (expected.major, expected.minor) {
        (3, 13) => &GROUPS_3_13,
        (3, 14) => &GROUPS_3_14,
        (3, 15) => &GROUPS_3_15,
        _ => return Err(PythonError::UnsupportedVersion(expected)),
    };
    let mut bytes = [0; EXTENT];
    memory.read(runtime, &mut bytes)?;
    if !bytes.starts_with(COOKIE) {
        return Err(PythonError::NoDebugOffsets(runtime));
    }
    let offsets = DebugOffsets { bytes };
    let found = PythonVersion::from_hex(offsets.word(0x8) as u32);
    if (found.major, found.minor) != (expected.major, expected.minor) {
        return Err(PythonError::OtherVersion { expected, found });
    }
    offsets.layout(groups)
}

struct DebugOffsets {
    bytes: [u8; EXTENT],
}

impl DebugOffsets {
    fn word(&self, at: usize) -> u64 {
        self.bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(u64::MAX, |word| u64::from_le_bytes(*word))
    }

    /// The size that the group at `group` begins with.
    fn size(&self, group: usize, field: &'static str) -> Result<usize, PythonError> {
        match self.word(group) {
            size @ 1..=MAX_STRUCT_SIZE => Ok(size as usize),
            value => Err(PythonError::BadDebugOffset { field, value }),
        }
    }

    /// Field number `index` of a group: `width` bytes inside the structure whose size the group begins with.
    fn field(
        &self,
        group: usize,
        index: usize,
        width: u64,
        field: &'static str,
    ) -> Result<usize, PythonError> {
        let value = self.word(group + 8 * index);
        match value.checked_add(width) {
            Some(end) if end <= self.size(group, field)? as u64 => Ok(value as usize),
            _ => Err(PythonError::BadDebugOffset { field, value }),
        }
    }

    fn layout(&self, groups: &Groups) -> Result<Layout, PythonError> {
        let free_threaded = self.word(0x10) != 0;
        let interpreter = groups.interpreter;
        Ok(Layout {
            interpreters_head: self.field(RUNTIME, 2, 8, "runtime_state.interpreters_head")?,
            interpreter: InterpreterLayout {
                next: self.field(interpreter, 2, 8, "interpreter_state.next")?,
                threads_head: self.field(interpreter, 3, 8, "interpreter_state.threads_head")?,
            },
            gil: self.gil(groups, free_threaded)?,
            thread: self.thread(groups)?,
            frames: FrameModel::Stacked(self.frames(groups, free_threaded)?),
            code: self.code(groups, free_threaded)?,
            text: self.text(groups, free_threaded)?,
        })
    }

    fn gil(&self, groups: &Groups, free_threaded: bool) -> Result<GilPlace, PythonError> {
        let (group, first) = (groups.interpreter, 8 + groups.interpreter_extra);
        let gil = self.field(group, first + 1, 8, "interpreter_state.gil_runtime_state")?;
        let inside = |index, width, name| {
            let at = self.field(group, index, width, name)?;
            match at.checked_sub(gil) {
                Some(at) if at <= 0x100 => Ok(at),
                _ => Err(PythonError::BadDebugOffset { field: name, value: at as u64 }),
            }
        };
        let enabled = match free_threaded {
            true => Some(inside(first + 2, 4, "interpreter_state.gil_runtime_state_enabled")?),
            false => None,
        };
        let last_holder = inside(first + 4, 8, "interpreter_state.gil_runtime_state_holder")?;
        let fields = GilFields {
            last_holder,
            locked: inside(first + 3, 4, "interpreter_state.gil_runtime_state_locked")?,
            enabled,
            // What lies behind the holder is the same in all builds; free-threaded ones have more before it.
            size: GilFields::DEFAULT.size - GilFields::DEFAULT.last_holder + last_holder,
        };
        Ok(GilPlace::Interpreter {
            pointer: self.field(group, first, 8, "interpreter_state.ceval_gil")?,
            fields,
        })
    }

    fn thread(&self, groups: &Groups) -> Result<ThreadLayout, PythonError> {
        let (group, ids) = (groups.thread, 5 + groups.thread_extra);
        Ok(ThreadLayout {
            next: self.field(group, 2, 8, "thread_state.next")?,
            interp: self.field(group, 3, 8, "thread_state.interp")?,
            thread_id: self.field(group, ids, 8, "thread_state.thread_id")?,
            native_thread_id: Some(self.field(group, ids + 1, 8, "thread_state.native_thread_id")?),
            // `datastack_top` follows `datastack_chunk`, the last field in use.
            extent: self.field(group, ids + 2, 16, "thread_state.datastack_chunk")? + 16,
        })
    }

    fn frames(&self, groups: &Groups, free_threaded: bool) -> Result<StackedFrames, PythonError> {
        let group = groups.frame;
        let size = self.size(group, "interpreter_frame.size")?;
        if !(0x50..=0x80).contains(&size) {
            return Err(PythonError::BadDebugOffset { field: "interpreter_frame.size", value: size as u64 });
        }
        let tlbc_index = match free_threaded && groups.thread_local_bytecode {
            true => Some(self.field(group, 7, 4, "interpreter_frame.tlbc_index")?),
            false => None,
        };
        let base_frame = match groups.thread_extra {
            0 => None,
            _ => Some(self.field(groups.thread, 5, 8, "thread_state.base_frame")?),
        };
        let chunk = 7 + groups.thread_extra;
        Ok(StackedFrames {
            size,
            top: TopFrame::Thread(self.field(groups.thread, 4, 8, "thread_state.current_frame")?),
            code: self.field(group, 2, 8, "interpreter_frame.executable")?,
            previous: self.field(group, 1, 8, "interpreter_frame.previous")?,
            instruction: self.field(group, 3, 8, "interpreter_frame.instr_ptr")?,
            owner: self.field(group, 5, 1, "interpreter_frame.owner")?,
            tlbc_index,
            entries: Entries::Shims,
            datastack_chunk: self.field(groups.thread, chunk, 16, "thread_state.datastack_chunk")?,
            base_frame,
        })
    }

    fn code(&self, groups: &Groups, free_threaded: bool) -> Result<CodeLayout, PythonError> {
        let group = groups.code;
        let firstlineno = self.field(group, 5, 4, "code_object.firstlineno")?;
        let linetable = self.field(group, 4, 8, "code_object.linetable")?;
        let layout = CodeLayout {
            ob_type: self.field(groups.pyobject, 1, 8, "pyobject.ob_type")?,
            filename: self.field(group, 1, 8, "code_object.filename")?,
            name: self.field(group, 2, 8, "code_object.name")?,
            qualname: Some(self.field(group, 3, 8, "code_object.qualname")?),
            firstlineno,
            linetable,
            line_format: LineFormat::LocationTable,
            // `co_version` is the seventh int from `co_firstlineno` on, as in 3.12.
            version: Some(firstlineno + 0x18),
            code_adaptive: self.field(group, 9, 1, "code_object.co_code_adaptive")?,
            tlbc: match free_threaded && groups.thread_local_bytecode {
                true => Some(self.field(group, 10, 8, "code_object.co_tlbc")?),
                false => None,
            },
        };
        let bad = |field, at: usize| PythonError::BadDebugOffset { field, value: at as u64 };
        // The code reader relies on this order: constant fields from the first line to the line table.
        let constant = layout.constant();
        if constant.len() > crate::python::CodeIdentity::CONSTANT_BYTES || constant.is_empty() {
            return Err(bad("code_object.linetable", linetable));
        }
        let pointers = [layout.filename, layout.name, layout.qualname.unwrap_or(linetable)];
        match pointers.into_iter().find(|at| !constant.contains(at)) {
            Some(at) => Err(bad("code_object.filename, name or qualname", at)),
            None if layout.extent() > crate::python::CodeIdentity::MAX_EXTENT => {
                Err(bad("code_object.co_tlbc", layout.extent()))
            }
            None => Ok(layout),
        }
    }

    fn text(&self, groups: &Groups, free_threaded: bool) -> Result<TextLayout, PythonError> {
        let (unicode, bytes) = (groups.unicode, groups.bytes);
        let ascii_data = self.word(unicode + 0x18);
        if !(0x20..=0x80).contains(&ascii_data) {
            return Err(PythonError::BadDebugOffset {
                field: "unicode_object.asciiobject_size",
                value: ascii_data,
            });
        }
        Ok(TextLayout {
            str_length: self.field(unicode, 2, 8, "unicode_object.length")?,
            str_state: self.field(unicode, 1, 4, "unicode_object.state")?,
            // From 3.14 on `interned` has a byte of its own in free-threaded builds, for atomic access.
            kind_shift: if free_threaded && groups.thread_local_bytecode { 8 } else { 2 },
            ascii_data: ascii_data as usize,
            // `PyCompactUnicodeObject` adds `utf8_length` and `utf8`.
            wide_data: ascii_data as usize + 0x10,
            bytes_size: self.field(bytes, 1, 8, "bytes_object.ob_size")?,
            bytes_data: self.field(bytes, 2, 1, "bytes_object.ob_sval")?,
            tp_name: self.field(groups.type_object, 1, 8, "type_object.tp_name")?,
        })
    }
}

//! The layouts of 3.6 to 3.12, one row each; x86_64, release builds. Read with `offsetof` from the headers of
//! each version and checked on live interpreters.

use super::{
    CFrameLayout, CodeLayout, Entries, FrameModel, GilFields, GilPlace, HeapFrames, InterpreterLayout,
    Layout, LineFormat, StackedFrames, TextLayout, ThreadLayout, TopFrame,
};
use crate::python::PythonVersion;

const TEXT_3_6: TextLayout = TextLayout {
    str_length: 0x10,
    str_state: 0x20,
    kind_shift: 2,
    ascii_data: 0x30,
    wide_data: 0x48,
    bytes_size: 0x10,
    bytes_data: 0x20,
    tp_name: 0x18,
};

/// 3.12 dropped `wstr` and its length from strings (PEP 623).
const TEXT_3_12: TextLayout = TextLayout { ascii_data: 0x28, wide_data: 0x38, ..TEXT_3_6 };

const CODE_3_6: CodeLayout = CodeLayout {
    ob_type: 0x8,
    filename: 0x60,
    name: 0x68,
    qualname: None,
    firstlineno: 0x24,
    linetable: 0x70,
    line_format: LineFormat::Lnotab,
    version: None,
    code_adaptive: 0,
    tlbc: None,
};

/// 3.8 inserted `co_posonlyargcount` (PEP 570).
const CODE_3_8: CodeLayout =
    CodeLayout { filename: 0x68, name: 0x70, firstlineno: 0x28, linetable: 0x78, ..CODE_3_6 };

const CODE_3_11: CodeLayout = CodeLayout {
    filename: 0x70,
    name: 0x78,
    qualname: Some(0x80),
    firstlineno: 0x48,
    linetable: 0x88,
    line_format: LineFormat::LocationTable,
    code_adaptive: 0xb8,
    ..CODE_3_6
};

const LAYOUT_3_6: Layout = Layout {
    interpreters_head: 0,
    interpreter: InterpreterLayout { next: 0, threads_head: 0x8 },
    gil: GilPlace::Symbols,
    thread: ThreadLayout { next: 0x8, interp: 0x10, thread_id: 0x98, native_thread_id: None, extent: 0xa0 },
    frames: FrameModel::Heap(HEAP_3_6),
    code: CODE_3_6,
    text: TEXT_3_6,
};

const HEAP_3_6: HeapFrames =
    HeapFrames { top: 0x18, back: 0x18, code: 0x20, lasti: 0x78, lasti_bytes: 1, cframes: None };

const LAYOUT_3_7: Layout = Layout {
    interpreters_head: 0x18,
    gil: GilPlace::Runtime { gil: 0x4f0 },
    thread: ThreadLayout { thread_id: 0xb0, extent: 0xb8, ..LAYOUT_3_6.thread },
    frames: FrameModel::Heap(HeapFrames { lasti: 0x68, ..HEAP_3_6 }),
    ..LAYOUT_3_6
};

const LAYOUT_3_8: Layout =
    Layout { interpreters_head: 0x20, gil: GilPlace::Runtime { gil: 0x480 }, code: CODE_3_8, ..LAYOUT_3_7 };

const LAYOUT_3_9: Layout = Layout { gil: GilPlace::Runtime { gil: 0x160 }, ..LAYOUT_3_8 };

const LAYOUT_3_10: Layout = Layout {
    thread: ThreadLayout { extent: 0x120, ..LAYOUT_3_9.thread },
    frames: FrameModel::Heap(HeapFrames {
        lasti: 0x60,
        lasti_bytes: 2,
        cframes: Some(CFrameLayout { thread_field: 0x30, root: 0x108, current_frame: None, previous: 0x8 }),
        ..HEAP_3_6
    }),
    code: CodeLayout { line_format: LineFormat::LineTable, ..CODE_3_8 },
    ..LAYOUT_3_9
};

const LAYOUT_3_11: Layout = Layout {
    interpreters_head: 0x28,
    interpreter: InterpreterLayout { next: 0, threads_head: 0x10 },
    gil: GilPlace::Runtime { gil: 0x168 },
    thread: ThreadLayout {
        next: 0x8,
        interp: 0x10,
        thread_id: 0x98,
        native_thread_id: Some(0xa0),
        extent: 0x168,
    },
    frames: FrameModel::Stacked(StackedFrames {
        size: 0x50,
        top: TopFrame::CFrame(CFrameLayout {
            thread_field: 0x38,
            root: 0x150,
            current_frame: Some(0x8),
            previous: 0x10,
        }),
        code: 0x20,
        previous: 0x30,
        instruction: 0x38,
        owner: 0x45,
        tlbc_index: None,
        entries: Entries::Flag(0x44),
        datastack_chunk: 0x128,
        base_frame: None,
    }),
    code: CODE_3_11,
    text: TEXT_3_6,
};

const LAYOUT_3_12: Layout = Layout {
    interpreters_head: 0x28,
    interpreter: InterpreterLayout { next: 0, threads_head: 0x48 },
    gil: GilPlace::Interpreter { pointer: 0x180, fields: GilFields::DEFAULT },
    thread: ThreadLayout {
        next: 0x8,
        interp: 0x10,
        thread_id: 0x88,
        native_thread_id: Some(0x90),
        extent: 0x128,
    },
    frames: FrameModel::Stacked(StackedFrames {
        size: 0x50,
        top: TopFrame::CFrame(CFrameLayout {
            thread_field: 0x38,
            root: 0x110,
            current_frame: Some(0x0),
            previous: 0x8,
        }),
        code: 0x0,
        previous: 0x8,
        instruction: 0x38,
        owner: 0x46,
        tlbc_index: None,
        entries: Entries::Shims,
        datastack_chunk: 0xe8,
        base_frame: None,
    }),
    code: CodeLayout { firstlineno: 0x44, version: Some(0x5c), code_adaptive: 0xc0, ..CODE_3_11 },
    text: TEXT_3_12,
};

/// The layout of a version before 3.13; `None` for versions that describe themselves, or are unknown.
pub(crate) fn layout_of(version: PythonVersion) -> Option<Layout> {
    match (version.major, version.minor) {
        (3, 6) => Some(LAYOUT_3_6),
        // `_PyRuntimeState` grew in 3.7.4, and where the lock was before is not known.
        (3, 7) if version.patch < 4 => Some(Layout { gil: GilPlace::Unknown, ..LAYOUT_3_7 }),
        (3, 7) => Some(LAYOUT_3_7),
        (3, 8) => Some(LAYOUT_3_8),
        (3, 9) => Some(LAYOUT_3_9),
        (3, 10) => Some(LAYOUT_3_10),
        (3, 11) => Some(LAYOUT_3_11),
        (3, 12) => Some(LAYOUT_3_12),
        _ => None,
    }
}

//! One entry of a stack, ready for people to read.

use std::sync::Arc;

/// What kind of code, or of remark, a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FrameKind {
    /// A Python function.
    Python,
    /// A function of a compiled language.
    Native,
    /// A function that the compiler inlined into the native frame below it.
    Inlined,
    /// A kernel function.
    Kernel,
    /// Not code: what the thread was waiting for, as `[blocked: futex]`.
    State,
    /// Not code: what is wrong with this stack, as `[truncated: no unwind information]`.
    Error,
}

/// A symbolized frame. Equal frames are interned to one [`FrameId`](crate::FrameId).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Frame {
    /// Function name, demangled; `module+0x1234` when there is no symbol.
    pub name: Arc<str>,
    /// Source file as the debug information or the code object names it, in full.
    pub file: Option<Arc<str>>,
    /// Line in `file` that was executing (for callers: the line of the call).
    pub line: Option<u32>,
    /// The mapped file a native frame lies in, as the target sees its path.
    pub module: Option<Arc<str>>,
    /// What kind of frame this is.
    pub kind: FrameKind,
}

impl Frame {
    /// A frame that is a remark, not code: see [`FrameKind::State`] and [`FrameKind::Error`].
    pub fn remark(kind: FrameKind, name: impl Into<Arc<str>>) -> Self {
        Frame { name: name.into(), file: None, line: None, module: None, kind }
    }
}

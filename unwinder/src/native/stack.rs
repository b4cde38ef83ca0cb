//! What an unwind yields.

use super::CodePlace;
use crate::{Avma, FrameAddress, RawFrame, Svma, Truncation};

/// On what ground a frame is in the stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FoundBy {
    /// The registers that the unwind started with.
    Start,
    /// Call frame information, executed exactly.
    Cfi,
    /// The convention that rbp points to the caller's rbp and return address. Right for code that keeps a frame
    /// pointer; a heuristic for the JIT code it is used on.
    FramePointer,
    /// The code of its callee, which has no call frame information, followed to a `ret`; what that would take as its
    /// return address does follow a call.
    Epilogue,
    /// A Python frame that lies in it ([`resume_at_anchor`](crate::merge::resume_at_anchor)), beyond code that could not
    /// be unwound for this reason: native frames may be missing below.
    Anchor(Truncation),
}

/// One native frame. Its extent on the stack is `[sp, cfa)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NativeFrame {
    /// Where in its code it is.
    pub address: FrameAddress,
    /// Its stack pointer.
    pub sp: Avma,
    /// Its canonical frame address: the stack pointer of its caller after the return. Equal to `sp` in the last
    /// frame of the stack, whose extent is not known. In a signal trampoline: the end of what the kernel pushed.
    pub cfa: Avma,
    /// Where `address.for_lookup()` lies.
    pub place: CodePlace,
    /// Start of the function, as the call frame information counts functions.
    pub function_start: Option<Svma>,
    /// On what ground it is here.
    pub found_by: FoundBy,
}

impl NativeFrame {
    /// The frame as it is kept while recording.
    pub fn raw(&self) -> RawFrame {
        match self.place {
            CodePlace::Module { module, svma } => RawFrame::Native { module, lookup: svma },
            CodePlace::Anonymous | CodePlace::Unmapped => {
                RawFrame::Anonymous { lookup: self.address.for_lookup() }
            }
        }
    }
}

/// How a stack ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StackEnd {
    /// The last frame is the thread's, or the user-level context's, outermost one.
    Root,
    /// The last frame has a caller that was not found.
    Truncated(Truncation),
}

/// A thread's native frames, leaf first. Reuse one for many unwinds: it keeps its memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NativeStack {
    /// The frames.
    pub frames: Vec<NativeFrame>,
    /// What is beyond the last one.
    pub end: StackEnd,
}

impl Default for NativeStack {
    fn default() -> Self {
        NativeStack { frames: Vec::new(), end: StackEnd::Truncated(Truncation::NoModule) }
    }
}

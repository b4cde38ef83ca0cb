//! Frames as they are kept while recording: numbers only, symbolized when output is made.

use crate::{Avma, Svma};

/// A mapped ELF file: index into the recording's [`ModuleStore`](crate::native::ModuleStore).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ModuleId(pub u32);

/// A code object that has been read and decoded: index into the recording's code table. Two code objects that
/// lived at the same address one after the other have different ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PythonCodeId(pub u32);

/// Why a native stack ends before its root, or has a gap. Each reason is counted, and shown as a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Truncation {
    /// The address lies in no mapped module and in no code we know how to walk.
    NoModule,
    /// The module has no call frame information for the address.
    NoUnwindInfo,
    /// A rule needs a register whose value is not known.
    UnknownRegister,
    /// The stack continues beyond the bytes that were copied.
    OutOfBytes,
    /// The caller's stack pointer would not lie above the callee's.
    DidNotAdvance,
    /// More frames than we are ready to believe.
    TooDeep,
    /// The call frame information itself is broken.
    BadUnwindInfo,
}

impl Truncation {
    /// The reason in words, as in the frames `[truncated: ...]` and `[gap: ...]` and in the counters.
    pub fn reason(self) -> &'static str {
        match self {
            Truncation::NoModule => "address in no module",
            Truncation::NoUnwindInfo => "no unwind information",
            Truncation::UnknownRegister => "unknown register",
            Truncation::OutOfBytes => "stack larger than the copy",
            Truncation::DidNotAdvance => "stack pointer did not advance",
            Truncation::TooDeep => "too many frames",
            Truncation::BadUnwindInfo => "broken unwind information",
        }
    }
}

/// Why a thread, or part of it, could not be read at all. Each reason is counted, and shown as a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Failure {
    /// The thread had to be stopped and could not be: another tracer has it.
    CannotStop,
    /// The thread was told to stop and got no CPU on which to do so in time.
    NotStopped,
    /// The thread stopped, and its registers could not be read.
    ThreadUnreadable,
    /// The thread has Python frames, and they could not be read.
    PythonUnreadable,
}

impl Failure {
    /// The reason in words, as in the frame `[failed: ...]` and in the counters.
    pub fn reason(self) -> &'static str {
        match self {
            Failure::CannotStop => "held by another tracer",
            Failure::NotStopped => "no CPU to stop on",
            Failure::ThreadUnreadable => "thread unreadable",
            Failure::PythonUnreadable => "Python frames unreadable",
        }
    }
}

/// Why the leaf of a stack is not known, when nothing may be stopped. Each reason is counted, and shown as a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Incompleteness {
    /// The thread was running, and none of its frames can be read without a stop.
    NotStopped,
    /// The innermost Python frames changed while they were read.
    Changing,
}

impl Incompleteness {
    /// The reason in words, as in the frame `[incomplete: ...]` and in the counters.
    pub fn reason(self) -> &'static str {
        match self {
            Incompleteness::NotStopped => "running thread not stopped",
            Incompleteness::Changing => "Python frames were changing",
        }
    }
}

/// One entry of a merged stack before symbolization.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RawFrame {
    /// Native code in a module; the address is the one to look up (one less than a return address).
    Native {
        /// In which ELF file.
        module: ModuleId,
        /// Where in it.
        lookup: Svma,
    },
    /// Native code in no file: a JIT's, or unmapped since.
    Anonymous {
        /// The address to look up, in the process.
        lookup: Avma,
    },
    /// A Python function at a line.
    Python {
        /// Which code object.
        code: PythonCodeId,
        /// Line now executing; 0 when the code object says that there is none.
        line: u32,
    },
    /// A kernel function, by address.
    Kernel {
        /// Address in the kernel's text.
        address: u64,
    },
    /// The stack ends here although its root was not reached; always outermost.
    Truncated(Truncation),
    /// Native frames may be missing here: the code below could not be unwound, and the stack goes on from the next
    /// Python frame.
    Gap(Truncation),
    /// Frames are missing here because they could not be read.
    Failed(Failure),
    /// The frames further in are missing; always the leaf.
    Incomplete(Incompleteness),
}

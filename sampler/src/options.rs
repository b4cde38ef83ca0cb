//! What to record.

use std::ffi::OsString;
use std::time::Duration;

use stackclock_unwinder::symbolize::InterpreterFrames;

/// Whom to look at.
#[derive(Clone, Debug)]
pub enum Targets {
    /// Processes that run already.
    Attach(Vec<u32>),
    /// A program with its arguments, recorded from its first instruction.
    Launch(Vec<OsString>),
}

/// What a launched program reads from and writes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Streams {
    /// Our own standard streams.
    Ours,
    /// Nothing: we need them for ourselves.
    Null,
}

/// Whether processes that targets start become targets too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subprocesses {
    /// Only the processes named.
    Ignore,
    /// Their descendants too, from the moment they are noticed.
    Follow,
}

/// Which frames are collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameSelection {
    /// Python and native frames, merged by address.
    Merged,
    /// Python frames where there are any; native frames are neither copied nor unwound.
    PythonOnly,
    /// Native frames; the interpreter is seen as the C program that it is.
    NativeOnly,
}

impl FrameSelection {
    /// Whether the interpreter's own code is shown.
    pub(crate) fn interpreter_frames(self) -> InterpreterFrames {
        match self {
            FrameSelection::NativeOnly => InterpreterFrames::Show,
            FrameSelection::Merged | FrameSelection::PythonOnly => InterpreterFrames::Hide,
        }
    }
}

/// Whether threads of the targets may be stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stops {
    /// Those that run, one by one, for some microseconds.
    Allowed,
    /// None, ever: of running threads only Python frames are seen, and not always all of them.
    Never,
}

/// Everything a recording needs to know before it begins.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Whom to look at.
    pub targets: Targets,
    /// The streams of a launched program.
    pub streams: Streams,
    /// Mean time between ticks; the gaps are randomised around it.
    pub interval: Duration,
    /// End after this time; otherwise when told to, or when all targets have ended.
    pub duration: Option<Duration>,
    /// Whether to follow forks.
    pub subprocesses: Subprocesses,
    /// Which frames to collect.
    pub frames: FrameSelection,
    /// Whether to stop threads.
    pub stops: Stops,
}

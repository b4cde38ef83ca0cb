//! The seam between the ways of looking at threads and everything above them.
//!
//! A backend yields *observations*, for each thread in time order. The recorder turns them into weights: a
//! thread's time from one observation to its next belongs to the state and the stack that were seen:
//!
//! ```text
//!   observed   Running/A     Blocked/B      Same           Running/C      gone
//!   time     ──┬─────────────┬──────────────┬──────────────┬──────────────┬──
//!   weight     └── A, run ───┴────────── B, blocked ───────┴── C, run ────┘
//! ```
//!
//! So a backend may look at threads one by one or all at once, be asked (ptrace) or push (perf events), and
//! nothing above it changes.

pub mod ptrace;

use stackclock_collapse::{RunState, ThreadId};
use stackclock_unwinder::python::{PythonCapture, Reading};
use stackclock_unwinder::{Capture, Failure};

use crate::clock::Instant;
use crate::proc::SchedStat;
use crate::target::Target;

/// One pass over all targets.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// When it began.
    pub began: Instant,
    /// The same, ns since the recording began.
    pub at_ns: u64,
}

/// What was seen of one thread at one instant.
#[derive(Debug)]
pub struct Observation<'a> {
    /// The instant, ns since the recording began.
    pub at_ns: u64,
    /// What the thread was doing.
    pub state: RunState,
    /// Whether it held its interpreter's GIL.
    pub holds_gil: bool,
    /// Its counters.
    pub account: Account,
    /// Its stack, as far as it was seen.
    pub sight: Sight<'a>,
}

/// The scheduler's count for a thread at an observation, exact to the nanosecond: it is read while the thread sleeps,
/// or stands still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Account {
    /// The counters.
    pub counters: SchedStat,
    /// How long after the observation's instant they were read: a stop takes some microseconds, and longer when the
    /// thread has no CPU.
    pub lag_ns: u64,
    /// For how much of that the thread waited for a CPU.
    pub lag_waiting_ns: u64,
}

impl Account {
    /// Counters read at the instant of the observation.
    pub fn at_once(counters: SchedStat) -> Self {
        Account { counters, lag_ns: 0, lag_waiting_ns: 0 }
    }
}

/// How much was seen of a thread's stack.
#[derive(Debug)]
pub enum Sight<'a> {
    /// Registers and bytes of one instant.
    Captured {
        /// Registers and stack.
        native: &'a Capture,
        /// The Python frames' bytes.
        python: PythonSight<&'a PythonCapture>,
    },
    /// The Python frames of a thread that ran on; nothing else of it can be seen.
    Running(PythonSight<(&'a PythonCapture, Reading)>),
    /// Nothing, and why.
    Failed(Failure),
}

/// How much was seen of a thread's Python frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PythonSight<T> {
    /// The thread has no interpreter state, or Python frames were not asked for.
    None,
    /// The frames of one instant.
    Captured(T),
    /// There are frames, and they could not be read.
    Failed,
}

impl PythonSight<()> {
    /// The same with the frames themselves.
    pub fn with<T>(self, frames: T) -> PythonSight<T> {
        match self {
            PythonSight::None => PythonSight::None,
            PythonSight::Captured(()) => PythonSight::Captured(frames),
            PythonSight::Failed => PythonSight::Failed,
        }
    }
}

/// What the recorder made of a capture, so that the backend can do better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The root was reached, or a better capture would not help.
    Done,
    /// The stack went on beyond the copied bytes.
    WantsMoreStack,
    /// The code was not known yet: look again at the next tick, even if the thread does not run.
    WantsAnotherLook,
    /// A register was needed that only a stop can tell.
    WantsRegisters,
}

/// Takes observations: the recorder.
pub trait ObservationSink {
    /// A thread was looked at. A second observation of the same thread at the same instant replaces the first.
    fn observe(&mut self, target: &mut Target, thread: usize, observation: Observation<'_>) -> Verdict;

    /// A thread has not run since its last observation: state and stack are as they were. Its time goes on.
    fn same(&mut self, thread: ThreadId);
}

/// A way of looking at threads.
pub trait CaptureBackend {
    /// Looks at every thread of a target.
    fn observe(&mut self, tick: Tick, target: &mut Target, sink: &mut dyn ObservationSink);

    /// Sleeps until `deadline`, or until a signal arrives, handing over what comes in meanwhile.
    fn wait_until(&mut self, deadline: Instant, targets: &mut [Target], sink: &mut dyn ObservationSink);

    /// Time for which threads of the targets were stopped so far, summed over threads, ns.
    fn stopped_ns(&self) -> u64;
}

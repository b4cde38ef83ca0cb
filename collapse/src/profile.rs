//! The profile: everything one recording found out, interned and weighted.

use std::time::SystemTime;

use crate::{Frame, FrameId, Interner, RunState, StackId, StackTable};

/// Index into [`Profile::processes`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ProcessId(pub u32);

/// Index into [`Profile::threads`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadId(pub u32);

/// A process that was a target.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// Process id in our own PID namespace.
    pub pid: u32,
    /// The command line, shortened to its meaning (`python3 train.py`), or the kernel's `comm`.
    pub name: String,
    /// `3.11.7` when CPython was found in it.
    pub python: Option<String>,
}

impl Process {
    /// The frame that stands for the process, in py-spy's words: `process 1234:"python3 train.py"`.
    pub fn text(&self) -> String {
        format!("process {}:\"{}\"", self.pid, self.name)
    }
}

/// The kernel's exact counters (`/proc/PID/task/TID/schedstat`) over the thread's time in the recording, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTotals {
    /// Time on a CPU.
    pub cpu_ns: u64,
    /// Time waiting in a run queue.
    pub wait_ns: u64,
}

/// A thread of a target.
#[derive(Clone, Debug)]
pub struct Thread {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Thread id in our own PID namespace.
    pub tid: u32,
    /// Name from the OS, or from Python's `threading` where that says more.
    pub name: String,
    /// First sight, ns since the recording began.
    pub start_ns: u64,
    /// End of the recording, or the moment it was found gone, ns since the recording began.
    pub end_ns: u64,
    /// Exact totals beside the sampled ones.
    pub totals: ThreadTotals,
}

impl Thread {
    /// The frame that stands for the thread, in py-spy's words: `thread (1240): worker`.
    pub fn text(&self) -> String {
        match self.name.as_str() {
            "" => format!("thread ({})", self.tid),
            name => format!("thread ({}): {name}", self.tid),
        }
    }
}

/// A stretch of one thread's time: it was seen in one state, with one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Whose time.
    pub thread: ThreadId,
    /// When the stretch began, ns since the recording began.
    pub at_ns: u64,
    /// How long it lasted: the weight, ns.
    pub weight_ns: u64,
    /// Observations in it: 1, or more when a blocked thread was seen not to have run.
    pub observations: u32,
    /// What the thread was doing.
    pub state: RunState,
    /// Its frames; no state frame: writers add that from `state`.
    pub stack: StackId,
    /// Whether the thread held its interpreter's GIL.
    pub holds_gil: bool,
}

/// What went wrong, each kind with a count of its own (words: crate docs).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Ticks that took place.
    pub ticks: u64,
    /// Ticks that began late.
    pub late: u64,
    /// Ticks that never happened, because an earlier one took too long.
    pub missed: u64,
    /// Samples whose root was not reached, by reason.
    pub truncated: Vec<(String, u64)>,
    /// Samples whose leaf was not reached, by reason.
    pub incomplete: Vec<(String, u64)>,
    /// Samples that could not be read, by reason.
    pub failed: Vec<(String, u64)>,
    /// Samples dropped after capture.
    pub lost: u64,
    /// Threads deliberately not looked at.
    pub skipped: u64,
    /// Time for which threads of the targets were stopped by us, summed over threads, ns.
    pub stopped_ns: u64,
}

/// When and how the recording was made.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Wall-clock begin.
    pub started: SystemTime,
    /// Length, ns.
    pub duration_ns: u64,
    /// Ticks a second that were asked for.
    pub rate_hz: f64,
}

impl Default for Recorded {
    fn default() -> Self {
        Recorded { started: SystemTime::UNIX_EPOCH, duration_ns: 0, rate_hz: 0.0 }
    }
}

/// One recording, symbolized. Samples of one thread are in time order and do not overlap; for each thread
/// their weights add up to `end_ns - start_ns`.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// When and how.
    pub recorded: Recorded,
    /// All frames.
    pub frames: Interner<Frame>,
    /// All stacks over `frames`.
    pub stacks: StackTable,
    /// All processes.
    pub processes: Vec<Process>,
    /// All threads.
    pub threads: Vec<Thread>,
    /// All samples.
    pub samples: Vec<Sample>,
    /// What went wrong.
    pub counters: Counters,
}

impl Profile {
    /// The frames of a stack, root first.
    pub fn frames_root_to_leaf(&self, stack: StackId) -> Vec<FrameId> {
        self.stacks.root_to_leaf(stack)
    }

    /// The thread behind an id of this profile.
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.0 as usize]
    }

    /// Thread and process in one line, for lists of threads: `thread (1240): worker, process 1234:"python3 train.py"`.
    pub fn thread_title(&self, id: ThreadId) -> String {
        format!("{}, {}", self.thread(id).text(), self.process_of(id).text())
    }

    /// The process of a thread of this profile.
    pub fn process_of(&self, thread: ThreadId) -> &Process {
        &self.processes[self.thread(thread).process.0 as usize]
    }
}

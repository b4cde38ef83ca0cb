//! One thread of a target, and what is remembered of it from tick to tick.

use std::fs;
use std::io;

use stackclock_collapse::{AwakeTime, ThreadId, ThreadTotals};
use stackclock_unwinder::python::{PythonThread, ThreadHints};

use crate::backend::Account;
use crate::proc::{KeptOpen, RunCounts, SchedStat, SyscallState, TaskState};

/// Stack bytes copied at first: 98 % of stacks end within them (UNWINDING.md 2).
pub const FIRST_STACK_BYTES: usize = 16 << 10;
/// Never copied more: the usual limit of a main thread's stack.
pub const MOST_STACK_BYTES: usize = 8 << 20;

/// A thread that is looked at.
#[derive(Debug)]
pub struct TargetThread {
    /// Thread id in our PID namespace.
    pub tid: u32,
    /// Thread id in its own PID namespace: the one that its interpreter and libc know.
    pub tid_inside: u32,
    /// Where its time is recorded; known from its first observation on.
    pub record: Option<ThreadId>,
    /// When its last observation was, ns since the recording began.
    pub observed_at: Option<u64>,
    /// Counters at its last observation.
    pub account: Option<Account>,
    /// Counters when it was last looked at.
    pub last: SchedStat,
    /// Whether the last sight holds for as long as `last.timeslices` stays the same.
    pub rest: Rest,
    /// How much stack its next capture copies.
    pub stack_bytes: usize,
    /// What the Python reader remembers of it.
    pub python_hints: ThreadHints,
    /// Whether it has ended.
    pub is_gone: bool,
    /// Counters at first sight.
    first: SchedStat,
    /// Timeslices when its children were last looked for.
    children_at: Option<u64>,
    counts: RunCounts,
    syscall: KeptOpen,
    stat: KeptOpen,
}

/// What is known of a thread since it was last looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// It slept: as long as it does not run, state and stack are the same.
    Asleep,
    /// It ran, or could not be read: it must be looked at again.
    Unknown,
    /// It was told to stop and has not had a CPU since: the stop is still to come.
    StopPending,
}

impl TargetThread {
    /// Opens the files of a thread. An error means that it is gone already, or that we ran out of files.
    pub fn open(pid: u32, tid: u32) -> io::Result<Self> {
        let task = format!("/proc/{pid}/task/{tid}");
        let file = |name| KeptOpen::open(format!("{task}/{name}"));
        let (counts, syscall, stat) = (RunCounts::open(&task)?, file("syscall")?, file("stat")?);
        let first = counts.read()?;
        Ok(TargetThread {
            tid,
            tid_inside: tid_inside(pid, tid).unwrap_or(tid),
            record: None,
            observed_at: None,
            account: None,
            last: first,
            rest: Rest::Unknown,
            stack_bytes: FIRST_STACK_BYTES,
            python_hints: ThreadHints::default(),
            is_gone: false,
            first,
            children_at: None,
            counts,
            syscall,
            stat,
        })
    }

    /// Makes the next capture copy more stack, unless it copies the most already.
    pub fn copy_more_stack(&mut self) -> bool {
        let more = (self.stack_bytes * 4).min(MOST_STACK_BYTES);
        let grown = more > self.stack_bytes;
        self.stack_bytes = more;
        grown
    }

    /// How it divided its time awake between its last observation and this one.
    pub fn awake_until(&self, account: &Account) -> Option<AwakeTime> {
        let before = self.account?;
        let grown = |later: u64, earlier: u64| later.saturating_sub(earlier);
        let cpu_ns = grown(account.counters.cpu_ns, before.counters.cpu_ns);
        let wait_ns = grown(account.counters.wait_ns, before.counters.wait_ns);
        // From the instants of the counts to those of the observations.
        let running = |account: &Account| account.lag_ns.saturating_sub(account.lag_waiting_ns);
        Some(AwakeTime {
            cpu_ns: (cpu_ns + running(&before)).saturating_sub(running(account)),
            wait_ns: (wait_ns + before.lag_waiting_ns).saturating_sub(account.lag_waiting_ns),
        })
    }

    /// Whether it has run since this was last asked.
    pub fn ran_since_children(&mut self) -> bool {
        let now = Some(self.last.timeslices);
        // A thread that runs without pause stays in one timeslice.
        let ran = self.children_at != now || self.rest != Rest::Asleep;
        self.children_at = now;
        ran
    }

    /// Whether an interpreter's thread state is this thread's.
    pub fn is_state_of(&self, state: &PythonThread) -> bool {
        state.native_tid == self.tid_inside
    }

    /// Time on a CPU and waiting for one between first and last sight.
    pub fn totals(&self) -> ThreadTotals {
        ThreadTotals {
            cpu_ns: self.last.cpu_ns.saturating_sub(self.first.cpu_ns),
            wait_ns: self.last.wait_ns.saturating_sub(self.first.wait_ns),
        }
    }

    /// The scheduler's counters now.
    pub fn schedstat(&self) -> io::Result<SchedStat> {
        self.counts.read()
    }

    /// Where it is in the kernel, if it sleeps.
    pub fn syscall(&self) -> io::Result<SyscallState> {
        self.syscall.read(SyscallState::parse)
    }

    /// Its scheduling state.
    pub fn state(&self) -> io::Result<TaskState> {
        self.stat.read(TaskState::parse)
    }
}

/// The innermost id on the `NSpid:` line of the thread's status (`proc_pid_status(5)`).
pub fn tid_inside(pid: u32, tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    ids.split_ascii_whitespace().next_back()?.parse().ok()
}

//! What a thread was doing at a tick.

use std::fmt;

/// A system call number of the architecture we run on, printed by name.
///
/// The names are the kernel's own (`include/uapi/asm-generic/unistd.h` and the per-architecture tables),
/// taken from the `syscalls` crate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Syscall(pub u32);

impl Syscall {
    /// The call with this name, if the architecture has one; the reverse of `Display`.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(number) = name.strip_prefix("syscall_") {
            return number.parse().ok().map(Syscall);
        }
        name.parse::<syscalls::Sysno>().ok().map(|number| Syscall(number.id() as u32))
    }
}

impl fmt::Display for Syscall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match syscalls::Sysno::new(self.0 as usize) {
            Some(known) => out.write_str(known.name()),
            None => write!(out, "syscall_{}", self.0),
        }
    }
}

/// The one state a thread has at a tick.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RunState {
    /// Executing on a CPU.
    Running,
    /// Ready, and waiting for a CPU.
    Runnable,
    /// Blocked in the system call with which CPython waits for its global interpreter lock.
    GilWait,
    /// Sleeping (interruptibly) in this system call.
    Blocked(Syscall),
    /// In the kernel's uninterruptible sleep (state `D`): a page fault, a disk, a vfork parent.
    Uninterruptible,
    /// Stopped by a signal or by another tracer (states `T` and `t`).
    Stopped,
}

impl RunState {
    /// Whether the thread wants a CPU: what py-spy calls active, and what is shown without `--idle`.
    pub fn is_on_cpu_or_wants_it(self) -> bool {
        matches!(self, RunState::Running | RunState::Runnable)
    }

    /// The text of the state frame that is the leaf of every sample that is not `Running`.
    ///
    /// ```
    /// use stackclock_collapse::{RunState, Syscall};
    /// let futex = Syscall::from_name("futex").unwrap();
    /// assert_eq!(RunState::Blocked(futex).frame_name().as_deref(), Some("[blocked: futex]"));
    /// assert_eq!(RunState::Running.frame_name(), None);
    /// ```
    pub fn frame_name(self) -> Option<String> {
        Some(match self {
            RunState::Running => return None,
            RunState::Runnable => "[runnable]".to_owned(),
            RunState::GilWait => "[gil]".to_owned(),
            RunState::Blocked(call) => format!("[blocked: {call}]"),
            RunState::Uninterruptible => "[uninterruptible]".to_owned(),
            RunState::Stopped => "[stopped]".to_owned(),
        })
    }

    /// The state whose [`frame_name`](Self::frame_name) this is.
    pub fn from_frame_name(name: &str) -> Option<Self> {
        Some(match name {
            "[runnable]" => RunState::Runnable,
            "[gil]" => RunState::GilWait,
            "[uninterruptible]" => RunState::Uninterruptible,
            "[stopped]" => RunState::Stopped,
            _ => RunState::Blocked(Syscall::from_name(name.strip_prefix("[blocked: ")?.strip_suffix(']')?)?),
        })
    }
}

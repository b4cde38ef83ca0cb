//! Why a recording could not begin or go on.

use std::io;

/// What stopped the sampler. Trouble with single threads at single ticks is not here: it is counted
/// ([`stackclock_collapse::Counters`]) and shown in the profile.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// No such process, or it ended before it could be looked at.
    #[error("no process {pid}")]
    NoSuchProcess {
        /// The pid asked for.
        pid: u32,
    },
    /// The kernel does not let us look into the process.
    #[error("cannot read memory of process {pid} (owner {owner})")]
    PermissionDenied {
        /// The pid asked for.
        pid: u32,
        /// Who runs it: a user name, or `uid 1000`.
        owner: String,
        /// The call that was refused, with errno.
        source: io::Error,
    },
    /// A kernel thread has no user stack.
    #[error("process {pid} ({name}) is a kernel thread")]
    KernelThread {
        /// The pid asked for.
        pid: u32,
        /// Its `comm`.
        name: String,
    },
    /// The process has ended and waits for its parent to notice.
    #[error("process {pid} ({name}) is a zombie")]
    Zombie {
        /// The pid asked for.
        pid: u32,
        /// Its `comm`.
        name: String,
    },
    /// Not a 64-bit program of our own architecture.
    #[error("process {pid} is not a 64-bit x86 program")]
    NotX86_64 {
        /// The pid asked for.
        pid: u32,
    },
    /// Profiling ourselves from inside would stop ourselves.
    #[error("process {pid} is this profiler itself")]
    Itself {
        /// The pid asked for.
        pid: u32,
    },
    /// The command of launch mode could not be started.
    #[error("cannot run {program}")]
    CannotLaunch {
        /// The command as it was typed.
        program: String,
        /// Why: `NotFound` and `PermissionDenied` are the two that shells tell apart.
        source: io::Error,
    },
    /// A system call that should not fail did.
    #[error("{what}")]
    System {
        /// What was being done.
        what: &'static str,
        /// The errno.
        source: io::Error,
    },
}

impl SamplerError {
    /// Wraps an errno with what was being done.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(nix::Error) -> SamplerError {
        move |errno| SamplerError::System { what, source: errno.into() }
    }
}

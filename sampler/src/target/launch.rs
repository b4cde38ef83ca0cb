//! Starting a program so that it can be looked at from its first instruction.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::SamplerError;
use crate::options::Streams;

/// A program that has been executed and stands before its first instruction, traced by the calling thread.
#[derive(Debug)]
pub struct Launched {
    pid: Pid,
}

impl Launched {
    /// Starts `command` (program, arguments) with our own environment and directory.
    ///
    /// The child asks to be traced, so the kernel stops it with SIGTRAP when its `execve` has succeeded
    /// (`ptrace(2)`, PTRACE_TRACEME); `execve`'s own error comes back from `spawn`.
    pub fn start(command: &[OsString], streams: Streams) -> Result<Self, SamplerError> {
        let Some((program, arguments)) = command.split_first() else {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "empty command");
            return Err(SamplerError::CannotLaunch { program: String::new(), source });
        };
        let failed =
            |source| SamplerError::CannotLaunch { program: program.to_string_lossy().into_owned(), source };
        let mut command = Command::new(program);
        command.args(arguments);
        if streams == Streams::Null {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        }
        // SAFETY: the closure runs in the forked child of a possibly threaded process; it makes two system calls
        // and touches no memory that another thread could have left locked.
        unsafe { command.pre_exec(prepare_child) };
        let child = command.spawn().map_err(failed)?;
        let pid = Pid::from_raw(child.id() as i32);
        match waitpid(pid, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::Stopped(..) | WaitStatus::PtraceEvent(..)) => Ok(Launched { pid }),
            Ok(_) => Err(failed(io::Error::other("it ended before it began"))),
            Err(errno) => Err(failed(errno.into())),
        }
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw() as u32
    }

    /// Lets it run.
    pub fn let_go(self) -> Result<Pid, SamplerError> {
        match ptrace::detach(self.pid, None) {
            Ok(()) | Err(Errno::ESRCH) => Ok(self.pid),
            Err(errno) => Err(SamplerError::system("letting the launched program run")(errno)),
        }
    }
}

/// Gives the child the signal mask that we were started with (SIGCHLD is blocked only for ourselves) and asks to
/// be traced.
fn prepare_child() -> io::Result<()> {
    use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
    let mut child_signal = SigSet::empty();
    child_signal.add(Signal::SIGCHLD);
    pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&child_signal), None)?;
    ptrace::traceme()?;
    Ok(())
}

//! The sampler's errors, explained.

use std::io;

use nix::errno::Errno;
use stackclock_sampler::SamplerError;

use crate::error::{Exit, Explain};
use crate::refusal::Refusal;

impl Explain for SamplerError {
    fn cause(&self) -> String {
        match self {
            SamplerError::NoSuchProcess { pid } => format!("there is no /proc/{pid} here; it may have ended"),
            SamplerError::PermissionDenied { pid, source, .. } => {
                format!("{}; {}", errno_name(source), Refusal::diagnose(*pid))
            }
            SamplerError::KernelThread { .. } => {
                "it is a part of the kernel and has no user stack".to_owned()
            }
            SamplerError::Zombie { .. } => {
                "it has ended; only its exit status waits for its parent to collect it".to_owned()
            }
            SamplerError::NotX86_64 { .. } => "32-bit programs have other registers and stacks".to_owned(),
            SamplerError::Itself { .. } => "a profiler that stops itself stops for good".to_owned(),
            SamplerError::CannotLaunch { source, .. } | SamplerError::System { source, .. } => {
                source.to_string()
            }
        }
    }

    fn help(&self) -> String {
        match self {
            SamplerError::NoSuchProcess { .. } => "ps -e -o pid,user,args lists the processes".to_owned(),
            SamplerError::PermissionDenied { pid, .. } => Refusal::diagnose(*pid).help(*pid),
            SamplerError::KernelThread { .. } => "perf top -g shows where the kernel's time goes".to_owned(),
            SamplerError::Zombie { pid, .. } => format!("ps -o ppid= -p {pid} names its parent"),
            SamplerError::NotX86_64 { .. } => "name a process of a 64-bit program".to_owned(),
            SamplerError::Itself { .. } => "name another process".to_owned(),
            SamplerError::CannotLaunch { program, source } => help_to_launch(program, source),
            SamplerError::System { .. } => "dmesg and ulimit -a may say more".to_owned(),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            SamplerError::NoSuchProcess { .. } => Exit::NoSuchProcess,
            SamplerError::PermissionDenied { .. } => Exit::Permission,
            SamplerError::CannotLaunch { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Exit::NotFound
            }
            SamplerError::CannotLaunch { .. } => Exit::CannotRun,
            SamplerError::KernelThread { .. }
            | SamplerError::Zombie { .. }
            | SamplerError::NotX86_64 { .. }
            | SamplerError::Itself { .. }
            | SamplerError::System { .. } => Exit::Failure,
        }
    }
}

/// As people search for it: `EPERM`.
fn errno_name(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), |number| format!("{:?}", Errno::from_raw(number)))
}

fn help_to_launch(program: &str, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => format!("command -v {program}"),
        io::ErrorKind::PermissionDenied => format!("chmod +x {program}, or name its interpreter"),
        _ => format!("file {program}"),
    }
}

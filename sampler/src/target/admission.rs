//! Whether a process can be a target at all; the one place where an attach is refused.

use std::fs::{self, File};
use std::io::{self, Read};

use nix::unistd::{Uid, User};
use procfs::process::{Process, StatFlags};

use crate::SamplerError;
use crate::arch;
use crate::proc::TaskState;

/// Checks everything that can be known before the first tick.
pub fn admit(pid: u32) -> Result<(), SamplerError> {
    if pid == std::process::id() {
        return Err(SamplerError::Itself { pid });
    }
    let gone = |_| SamplerError::NoSuchProcess { pid };
    let stat_line = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(gone)?;
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    let process = process.ok_or(SamplerError::NoSuchProcess { pid })?;
    let stat = process.stat().map_err(|_| SamplerError::NoSuchProcess { pid })?;
    let name = stat.comm.clone();
    if StatFlags::from_bits_truncate(stat.flags).contains(StatFlags::PF_KTHREAD) {
        return Err(SamplerError::KernelThread { pid, name });
    }
    if TaskState::parse(&stat_line) == Some(TaskState::Dead) {
        return Err(SamplerError::Zombie { pid, name });
    }
    let denied = |source| match io::Error::kind(&source) {
        io::ErrorKind::NotFound => SamplerError::NoSuchProcess { pid },
        _ => SamplerError::PermissionDenied { pid, owner: owner(&process), source },
    };
    let mut header = [0; 20];
    let header_read = File::open(format!("/proc/{pid}/exe")).and_then(|mut exe| exe.read_exact(&mut header));
    header_read.map_err(denied)?;
    if !arch::is_own_machine(&header) {
        return Err(SamplerError::NotX86_64 { pid });
    }
    // The check that ptrace and process_vm_readv make too (PTRACE_MODE_ATTACH_FSCREDS, kernel/ptrace.c).
    File::open(format!("/proc/{pid}/mem")).map_err(denied)?;
    Ok(())
}

fn owner(process: &Process) -> String {
    let Ok(uid) = process.uid() else { return "unknown".to_owned() };
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => format!("uid {uid}"),
    }
}

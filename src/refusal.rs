//! Which of the kernel's checks keeps us from looking into a process.
//!
//! The order is that of ptrace(2), "Ptrace access mode checking": users, then capabilities and dumpability, then
//! the Yama module.

use std::fmt;
use std::fs;

/// The check that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A process can have one tracer.
    Traced {
        /// The tracer.
        by: u32,
    },
    /// It runs as another user, and we have no `CAP_SYS_PTRACE`.
    OtherUser {
        /// Its real, effective or saved user id that is not ours.
        theirs: u32,
        /// Our user id.
        ours: u32,
    },
    /// The value of `kernel.yama.ptrace_scope`, not zero.
    Yama(u8),
    /// None of the above: it made itself unreadable, has capabilities that we lack, or another security module
    /// forbids it.
    Other,
}

/// Bit of `CAP_SYS_PTRACE` in the sets of `/proc/PID/status` (capabilities(7)).
const CAP_SYS_PTRACE: u64 = 1 << 19;

/// The fields of `/proc/PID/status` that ptrace checks.
#[derive(Debug, Default)]
struct Identity {
    user_ids: Vec<u32>,
    tracer: u32,
    effective_capabilities: u64,
}

impl Identity {
    fn is_privileged(&self) -> bool {
        self.effective_capabilities & CAP_SYS_PTRACE != 0
    }

    fn of(process: &str) -> Option<Identity> {
        fs::read_to_string(format!("/proc/{process}/status")).ok().map(|status| Identity::parse(&status))
    }

    fn parse(status: &str) -> Identity {
        let field = |name: &str| {
            status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or("").trim()
        };
        Identity {
            user_ids: field("Uid").split_whitespace().take(3).filter_map(|id| id.parse().ok()).collect(),
            tracer: field("TracerPid").parse().unwrap_or(0),
            effective_capabilities: u64::from_str_radix(field("CapEff"), 16).unwrap_or(0),
        }
    }
}

/// Whether we have `CAP_SYS_PTRACE`.
pub fn has_ptrace_capability() -> bool {
    Identity::of("self").is_some_and(|ours| ours.is_privileged())
}

impl Refusal {
    /// Looks at what the kernel looked at when it refused `pid`.
    pub fn diagnose(pid: u32) -> Refusal {
        match (Identity::of(&pid.to_string()), Identity::of("self")) {
            (Some(theirs), Some(ours)) => Refusal::judge(&theirs, &ours, yama_scope()),
            _ => Refusal::Other,
        }
    }

    fn judge(theirs: &Identity, ours: &Identity, yama_scope: u8) -> Refusal {
        let privileged = ours.is_privileged();
        let our_id = ours.user_ids.first().copied().unwrap_or_default();
        match theirs.user_ids.iter().find(|id| **id != our_id) {
            _ if theirs.tracer != 0 => Refusal::Traced { by: theirs.tracer },
            Some(&theirs) if !privileged => Refusal::OtherUser { theirs, ours: our_id },
            _ if yama_scope >= 3 || (yama_scope > 0 && !privileged) => Refusal::Yama(yama_scope),
            _ => Refusal::Other,
        }
    }

    /// The command to try.
    pub fn help(&self, pid: u32) -> String {
        let as_root = format!(
            "sudo -E stackclock record -p {pid}; in Docker add --cap-add=SYS_PTRACE; details: stackclock doctor -p {pid}"
        );
        match self {
            Refusal::Traced { by } => format!("end the debugger first: ps -o pid,args -p {by}"),
            Refusal::Yama(scope) if *scope >= 3 => {
                "boot with kernel.yama.ptrace_scope set to 2 or less (see /etc/sysctl.d)".to_owned()
            }
            Refusal::OtherUser { .. } | Refusal::Yama(_) | Refusal::Other => as_root,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Traced { by } => write!(out, "process {by} traces it already"),
            Refusal::OtherUser { theirs, ours } => {
                write!(out, "it belongs to uid {theirs}, we are uid {ours} and have no CAP_SYS_PTRACE")
            }
            Refusal::Yama(1) => write!(out, "kernel.yama.ptrace_scope is 1 and we are not its parent"),
            Refusal::Yama(2) => {
                write!(out, "kernel.yama.ptrace_scope is 2, which asks for CAP_SYS_PTRACE")
            }
            Refusal::Yama(scope) => {
                write!(out, "kernel.yama.ptrace_scope is {scope}, which lets nobody look until the next boot")
            }
            Refusal::Other => write!(
                out,
                "it is not dumpable (prctl PR_SET_DUMPABLE), has capabilities that we lack, or a security \
                 module such as seccomp forbids it"
            ),
        }
    }
}

/// `kernel.yama.ptrace_scope`; zero where the kernel has no Yama.
pub fn yama_scope() -> u8 {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope")
        .ok()
        .and_then(|scope| scope.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(user: u32, tracer: u32, capabilities: u64) -> Identity {
        Identity { user_ids: vec![user; 3], tracer, effective_capabilities: capabilities }
    }

    #[test]
    fn the_fields_of_status_are_found() {
        let status = "Name:\tx\nTracerPid:\t77\nUid:\t1000\t1001\t1002\t1003\nCapEff:\t0000000000080000\n";
        let parsed = Identity::parse(status);
        assert_eq!(parsed.user_ids, [1000, 1001, 1002]);
        assert_eq!(parsed.tracer, 77);
        assert_eq!(parsed.effective_capabilities, CAP_SYS_PTRACE);
    }

    #[test]
    fn the_first_check_that_fails_is_named() {
        let plain = identity(1000, 0, 0);
        let root = identity(0, 0, CAP_SYS_PTRACE);
        let judge = Refusal::judge;
        assert_eq!(judge(&identity(1000, 5, 0), &root, 0), Refusal::Traced { by: 5 });
        assert_eq!(judge(&root, &plain, 1), Refusal::OtherUser { theirs: 0, ours: 1000 });
        assert_eq!(judge(&plain, &plain, 1), Refusal::Yama(1));
        assert_eq!(judge(&plain, &root, 1), Refusal::Other);
        assert_eq!(judge(&plain, &root, 3), Refusal::Yama(3));
        assert_eq!(judge(&plain, &plain, 0), Refusal::Other);
    }

    #[test]
    fn we_can_read_our_own_identity() {
        let own = Identity::of("self").unwrap();
        assert_eq!(own.user_ids.len(), 3);
        assert_eq!(own.tracer, 0);
    }
}

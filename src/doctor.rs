//! `stackclock doctor`: what works here, what does not, and the one-line remedy.

use std::fmt;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use nix::sys::ptrace;
use nix::unistd::Pid;
use stackclock_collapse::Profile;
use stackclock_sampler::{
    FrameSelection, SamplerError, SessionOptions, Stops, Streams, Subprocesses, Targets,
};

use crate::cli::DoctorArgs;
use crate::error::{Error, Exit, Explain, OneLine};
use crate::figures::plural;
use crate::output::write_stdout;
use crate::refusal::{has_ptrace_capability, yama_scope};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Finding {
    /// It works.
    Works(String),
    /// It does not, and there is something to do about it.
    Fails {
        /// What was found.
        found: String,
        /// What to do.
        remedy: String,
    },
}

/// A check with its finding.
#[derive(Clone, Debug)]
struct Check {
    subject: &'static str,
    finding: Finding,
}

impl fmt::Display for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.finding {
            Finding::Works(found) => write!(out, "ok    {:<14} {}", self.subject, OneLine(found)),
            Finding::Fails { found, remedy } => {
                write!(
                    out,
                    "FAIL  {:<14} {}\n      {:<14} help: {}",
                    self.subject,
                    OneLine(found),
                    "",
                    OneLine(remedy)
                )
            }
        }
    }
}

/// Checks, prints, and fails if a check did.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Error> {
    let mut checks = vec![
        Check { subject: "ptrace", finding: check_ptrace() },
        Check { subject: "yama", finding: check_yama(yama_scope()) },
        Check { subject: "schedstat", finding: check_schedstat() },
    ];
    checks.extend(args.pid.map(|pid| Check { subject: "process", finding: check_process(pid) }));
    write_stdout(|out| checks.iter().try_for_each(|check| writeln!(out, "{check}")))?;
    let failed = checks.iter().any(|check| matches!(check.finding, Finding::Fails { .. }));
    Ok(if failed { Exit::Failure } else { Exit::Success })
}

/// Whether ptrace works at all: containers may forbid it altogether.
fn check_ptrace() -> Finding {
    let failed = |found: String| Finding::Fails {
        found,
        remedy: "in a container add --cap-add=SYS_PTRACE to docker run".to_owned(),
    };
    let mut child = match Command::new("sleep").arg("10").stdin(Stdio::null()).spawn() {
        Ok(child) => child,
        Err(error) => return failed(format!("cannot start a child to try it on: {error}")),
    };
    let seized = ptrace::seize(Pid::from_raw(child.id() as i32), ptrace::Options::empty());
    // Our own child, which a kill always ends.
    let ended = child.kill().and_then(|()| child.wait());
    match (seized, ended) {
        (Ok(()), Ok(_)) => Finding::Works("a child process can be traced".to_owned()),
        (Err(errno), _) => failed(format!("a child process cannot be traced: {errno:?}")),
        (_, Err(error)) => failed(error.to_string()),
    }
}

/// Whether processes that are not our children can be traced.
fn check_yama(scope: u8) -> Finding {
    let privileged = has_ptrace_capability();
    match scope {
        0 => Finding::Works("no restriction: all processes of our user can be traced".to_owned()),
        1 | 2 if privileged => Finding::Works(format!("ptrace_scope is {scope}, and we have CAP_SYS_PTRACE")),
        scope => Finding::Fails {
            found: format!("kernel.yama.ptrace_scope is {scope}: running processes cannot be attached to"),
            remedy:
                "run as root (sudo -E), launch with `record -- COMMAND`, or sysctl kernel.yama.ptrace_scope=0"
                    .to_owned(),
        },
    }
}

/// Whether the kernel counts what each thread does on its CPUs.
fn check_schedstat() -> Finding {
    let line = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    match line.split_whitespace().filter(|field| field.parse::<u64>().is_ok()).count() {
        3 => Finding::Works("threads that have not run cost almost nothing".to_owned()),
        _ => Finding::Fails {
            found: "/proc/PID/schedstat is missing".to_owned(),
            remedy: "use a kernel with CONFIG_SCHED_INFO".to_owned(),
        },
    }
}

/// Records a process for a moment.
fn check_process(pid: u32) -> Finding {
    match record_briefly(pid) {
        Ok(profile) => Finding::Works(describe(&profile)),
        Err(error) => Finding::Fails { found: format!("{error}: {}", error.cause()), remedy: error.help() },
    }
}

fn record_briefly(pid: u32) -> Result<Profile, SamplerError> {
    let options = SessionOptions {
        targets: Targets::Attach(vec![pid]),
        streams: Streams::Ours,
        interval: Duration::from_millis(10),
        duration: Some(Duration::from_millis(200)),
        subprocesses: Subprocesses::Ignore,
        frames: FrameSelection::Merged,
        stops: Stops::Allowed,
    };
    let recording = stackclock_sampler::record(options, &AtomicBool::new(false), &mut |_| ())?;
    Ok(recording.into_profile())
}

fn describe(profile: &Profile) -> String {
    let threads = plural(profile.threads.len() as u64, "thread", "threads");
    let python = match profile.processes.first().and_then(|process| process.python.as_deref()) {
        Some(version) => format!("CPython {version}"),
        None => "no CPython in it".to_owned(),
    };
    let failed: u64 = profile.counters.failed.iter().map(|(_, count)| count).sum();
    format!("{threads} sampled for 0.2 s, {python}, {} failed", plural(failed, "sample", "samples"))
}

//! What a recording has found out, before and after it is given names.

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use stackclock_collapse::{Counters, Profile, Recorded, StackId};
use stackclock_unwinder::symbolize::{KernelSymbols, NameSources, Symbolizer};

use crate::recorder::Recorder;

/// A finished recording: numbers only, until [`into_profile`](Self::into_profile).
#[derive(Debug)]
pub struct Recording {
    recorder: Recorder,
    recorded: Recorded,
    counters: Counters,
    child: Option<Child>,
}

/// The program of launch mode.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    pid: Pid,
    status: Option<WaitStatus>,
}

/// How a child ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildEnd {
    /// It exited with this status.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
}

impl Child {
    pub(crate) fn new(pid: Pid, status: Option<WaitStatus>) -> Self {
        Child { pid, status }
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw() as u32
    }

    /// Whether it had ended when the recording did.
    pub fn has_ended(&self) -> bool {
        self.status.is_some()
    }

    /// Asks it to end (SIGTERM).
    pub fn terminate(&self) {
        // It may have ended meanwhile; as a zombie it keeps its pid until `wait`.
        let _ = nix::sys::signal::kill(self.pid, nix::sys::signal::Signal::SIGTERM);
    }

    /// Waits until it has ended. `None` if somebody else has collected its status.
    pub fn wait(self) -> Option<ChildEnd> {
        let mut status = self.status;
        loop {
            match status {
                Some(WaitStatus::Exited(_, code)) => return Some(ChildEnd::Exited(code)),
                Some(WaitStatus::Signaled(_, signal, _)) => return Some(ChildEnd::Signaled(signal as i32)),
                _ => match waitpid(self.pid, None) {
                    Ok(now) => status = Some(now),
                    Err(nix::errno::Errno::EINTR) => {}
                    Err(_) => return None,
                },
            }
        }
    }
}

impl Recording {
    pub(crate) fn new(
        recorder: Recorder,
        recorded: Recorded,
        counters: Counters,
        child: Option<Child>,
    ) -> Self {
        Recording { recorder, recorded, counters, child }
    }

    /// The program that was launched, if one was.
    pub fn child(&self) -> Option<Child> {
        self.child
    }

    /// Looks up all names. Files are read as the targets saw them, so this is best done while they still run.
    pub fn into_profile(self) -> Profile {
        let Recorder { selection, modules, codes, frames, stacks, timeline, tally, .. } = self.recorder;
        let mut symbolizer = Symbolizer::new(selection.interpreter_frames(), KernelSymbols::default());
        let sources = NameSources { modules: &*modules, codes: &codes, perf_map: None };
        let end_ns = self.recorded.duration_ns;
        let mut profile = timeline.finish(end_ns, |profile, raw| {
            stacks.root_to_leaf(raw).into_iter().fold(StackId::EMPTY, |stack, frame| {
                let named = symbolizer.symbolize(*frames.get(frame), sources);
                named.iter().fold(stack, |stack, frame| {
                    let frame = profile.frames.intern(frame.clone());
                    profile.stacks.push(stack, frame)
                })
            })
        });
        profile.recorded = self.recorded;
        profile.counters = self.counters;
        profile.counters.truncated = by_reason(&tally.truncated, |reason| reason.reason());
        profile.counters.incomplete = by_reason(&tally.incomplete, |reason| reason.reason());
        profile.counters.failed = by_reason(&tally.failed, |reason| reason.reason());
        profile
    }
}

fn by_reason<R: Copy>(
    counts: &std::collections::BTreeMap<R, u64>,
    name: impl Fn(R) -> &'static str,
) -> Vec<(String, u64)> {
    counts.iter().map(|(&reason, &count)| (name(reason).to_owned(), count)).collect()
}

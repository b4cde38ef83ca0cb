//! Profiles made from files whose frames are only text.

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::{
    Frame, FrameKind, Process, ProcessId, Profile, RunState, Sample, Thread, ThreadId, ThreadTotals,
};

/// The times of a file add up to more than 2^64 ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the file's times add up to more than 2^64 nanoseconds (584 years)")]
pub struct TooLong;

/// Builds a [`Profile`] from stacks as other programs' files have them, undoing what [`View`](crate::View) adds:
/// process and thread frames at the root become processes and threads, a state frame at the leaf the state.
/// A thread's samples follow each other without gaps.
#[derive(Clone, Debug, Default)]
pub struct Importer {
    profile: Profile,
    processes: FxHashMap<(u32, String), ProcessId>,
    threads: FxHashMap<(ProcessId, u32, String), ThreadId>,
    total_ns: u64,
}

impl Importer {
    /// The thread of this name in this process, new or known.
    pub fn thread(&mut self, process: Process, tid: u32, name: String) -> ThreadId {
        let processes = &mut self.profile.processes;
        let process_id = *self.processes.entry((process.pid, process.name.clone())).or_insert_with(|| {
            processes.push(process);
            ProcessId(processes.len() as u32 - 1)
        });
        let threads = &mut self.profile.threads;
        *self.threads.entry((process_id, tid, name)).or_insert_with_key(|(process, tid, name)| {
            let (process, tid, name) = (*process, *tid, name.clone());
            threads.push(Thread {
                process,
                tid,
                name,
                start_ns: 0,
                end_ns: 0,
                totals: ThreadTotals::default(),
            });
            ThreadId(threads.len() as u32 - 1)
        })
    }

    /// The thread with this [`Profile::thread_title`]; any other text is taken as the name of a thread.
    pub fn thread_titled(&mut self, title: &str) -> ThreadId {
        let both = title.rsplit_once(", process ").and_then(|(thread, process)| {
            Some((thread_of_text(thread)?, process_of_text(&format!("process {process}"))?))
        });
        match both {
            Some(((tid, name), process)) => self.thread(process, tid, name),
            None => self.thread(Process::default(), 0, title.to_owned()),
        }
    }

    /// Says when a thread began. Does nothing for one that already has time.
    pub fn start(&mut self, thread: ThreadId, at_ns: u64) {
        let thread = &mut self.profile.threads[thread.0 as usize];
        if thread.start_ns == thread.end_ns {
            (thread.start_ns, thread.end_ns) = (at_ns, at_ns);
        }
    }

    /// Lets time pass at the end of a thread of which nothing is known.
    pub fn add_gap(&mut self, thread: ThreadId, weight_ns: u64) -> Result<(), TooLong> {
        self.append(thread, weight_ns).map(|_| ())
    }

    /// Adds a stack, root first; its first frames say whose it is.
    pub fn add(&mut self, mut frames: Vec<Frame>, weight_ns: u64, observations: u32) -> Result<(), TooLong> {
        let mut rest = frames.drain(..).peekable();
        let process = rest.next_if(|frame| process_of(frame).is_some()).and_then(|frame| process_of(&frame));
        let thread = rest.next_if(|frame| thread_of(frame).is_some()).and_then(|frame| thread_of(&frame));
        let rest: Vec<Frame> = rest.collect();
        let (tid, name) = thread.unwrap_or_default();
        let thread = self.thread(process.unwrap_or_default(), tid, name);
        self.add_to(thread, rest, weight_ns, observations)
    }

    /// Adds a stack, root first, to the end of a thread.
    pub fn add_to(
        &mut self,
        thread: ThreadId,
        mut frames: Vec<Frame>,
        weight_ns: u64,
        observations: u32,
    ) -> Result<(), TooLong> {
        let at_ns = self.append(thread, weight_ns)?;
        let state_frame = frames.pop_if(|frame| frame.kind == FrameKind::State);
        let state =
            state_frame.and_then(|frame| RunState::from_frame_name(&frame.name)).unwrap_or(RunState::Running);
        let Profile { frames: known, stacks, samples, .. } = &mut self.profile;
        let stack = stacks.intern(frames.into_iter().map(|frame| known.intern(frame)));
        samples.push(Sample { thread, at_ns, weight_ns, observations, state, stack, holds_gil: false });
        Ok(())
    }

    /// Moves a thread's end by `weight_ns` and gives the old one.
    fn append(&mut self, thread: ThreadId, weight_ns: u64) -> Result<u64, TooLong> {
        // The total over all threads bounds every sum that is made of samples later.
        self.total_ns = self.total_ns.checked_add(weight_ns).ok_or(TooLong)?;
        let end_ns = &mut self.profile.threads[thread.0 as usize].end_ns;
        let later = end_ns.checked_add(weight_ns).ok_or(TooLong)?;
        Ok(std::mem::replace(end_ns, later))
    }

    /// The profile; it lasts from the first thread's start to the last one's end.
    pub fn finish(mut self) -> Profile {
        let threads = &self.profile.threads;
        let start_ns = threads.iter().map(|thread| thread.start_ns).min().unwrap_or(0);
        let end_ns = threads.iter().map(|thread| thread.end_ns).max().unwrap_or(0);
        self.profile.recorded.duration_ns = end_ns - start_ns;
        self.profile
    }
}

fn process_of(frame: &Frame) -> Option<Process> {
    process_of_text(&frame.name).filter(|_| frame.kind == FrameKind::Root)
}

fn thread_of(frame: &Frame) -> Option<(u32, String)> {
    thread_of_text(&frame.name).filter(|_| frame.kind == FrameKind::Root)
}

/// The process of this text; the reverse of [`Process::text`].
fn process_of_text(text: &str) -> Option<Process> {
    let (pid, name) = text.strip_prefix("process ")?.strip_suffix('"')?.split_once(":\"")?;
    let process = Process { pid: pid.parse().ok()?, name: name.to_owned(), python: None };
    (process.text() == text).then_some(process)
}

/// Id and name of the thread of this text; the reverse of [`Thread::text`].
fn thread_of_text(text: &str) -> Option<(u32, String)> {
    let (tid, rest) = text.strip_prefix("thread (")?.split_once(')')?;
    let name = if rest.is_empty() { "" } else { rest.strip_prefix(": ")? };
    let number: u32 = tid.parse().ok()?;
    (number.to_string() == tid).then(|| (number, name.to_owned()))
}

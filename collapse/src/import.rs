//! Profiles made from files whose frames are only text.

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::{
    Frame, FrameId, FrameKind, Process, ProcessId, Profile, RunState, Sample, StackId, Thread, ThreadId,
    ThreadTotals,
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

    /// The frame, new or known.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        self.profile.frames.intern(frame)
    }

    /// The stack in which the last frame of `caller` calls `frame`.
    pub fn call(&mut self, caller: StackId, frame: FrameId) -> StackId {
        self.profile.stacks.push(caller, frame)
    }

    /// Adds a stack, root first; its first frames say whose it is.
    pub fn add(&mut self, mut frames: Vec<Frame>, weight_ns: u64, observations: u32) -> Result<(), TooLong> {
        let mut rest = frames.drain(..).peekable();
        let process = rest.next_if(|frame| process_of(frame).is_some()).and_then(|frame| process_of(&frame));
        let thread = rest.next_if(|frame| thread_of(frame).is_some()).and_then(|frame| thread_of(&frame));
        let mut stack = StackId::EMPTY;
        for frame in rest {
            let frame = self.frame(frame);
            stack = self.call(stack, frame);
        }
        let (tid, name) = thread.unwrap_or_default();
        let thread = self.thread(process.unwrap_or_default(), tid, name);
        self.add_to(thread, stack, weight_ns, observations)
    }

    /// Adds time in a stack to the end of a thread.
    pub fn add_to(
        &mut self,
        thread: ThreadId,
        stack: StackId,
        weight_ns: u64,
        observations: u32,
    ) -> Result<(), TooLong> {
        let at_ns = self.append(thread, weight_ns)?;
        let (stack, state) = self.split_state(stack);
        let sample = Sample { thread, at_ns, weight_ns, observations, state, stack, holds_gil: false };
        self.profile.samples.push(sample);
        Ok(())
    }

    /// The stack without the state frame at its leaf, and that state.
    fn split_state(&self, stack: StackId) -> (StackId, RunState) {
        let state = self.profile.stacks.last(stack).and_then(|(caller, leaf)| {
            let frame = self.profile.frames.get(leaf);
            let state = RunState::from_frame_name(&frame.name).filter(|_| frame.kind == FrameKind::State)?;
            Some((caller, state))
        });
        state.unwrap_or((stack, RunState::Running))
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

//! A process that is looked at: its memory, its code, its interpreter and its threads.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

use procfs::process::Process;
use stackclock_collapse::ProcessId;
use stackclock_unwinder::native::{AddressSpace, ModuleStore, NativeStack, Unwinder};
use stackclock_unwinder::python::PythonCapture;
use stackclock_unwinder::{Avma, Capture};

use super::interpreter::TargetPython;
use super::maps::read_mappings;
use super::thread::TargetThread;
use crate::backend::PythonSight;
use crate::clock::Instant;
use crate::memory::LiveMemory;
use crate::proc::TaskState;

/// Mappings are read again after this time, for code that was unmapped or replaced.
const MAPS_OLD_AFTER_NS: u64 = 500_000_000;
/// And not more often than this when an address is in no known module.
const MAPS_YOUNG_FOR_NS: u64 = 10_000_000;

/// Why mappings are read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapsNews {
    /// It is time to look again.
    Routine,
    /// An address was in no known module.
    UnknownCode,
}

/// Whether a target still runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It does, or did when it was last looked at.
    Running,
    /// All its threads have ended.
    Ended,
}

/// What happened to the threads of a target between two ticks.
#[derive(Debug, Default)]
pub struct ThreadNews {
    /// Threads that were not there at the tick before.
    pub began: Vec<u32>,
    /// Threads that are gone.
    pub ended: Vec<TargetThread>,
}

/// One process that is looked at.
#[derive(Debug)]
pub struct Target {
    /// Its pid, in our PID namespace.
    pub pid: u32,
    /// Where its time is recorded.
    pub process: ProcessId,
    /// Its memory.
    pub memory: LiveMemory,
    /// Its code.
    pub space: AddressSpace,
    /// Its native unwinder: caches what was looked up in `space`.
    pub unwinder: Unwinder,
    /// Its interpreter, if it has one.
    pub python: TargetPython,
    /// Its threads.
    pub threads: Vec<TargetThread>,
    /// Whether it still runs.
    pub life: Life,
    task_dir: File,
    /// Link count of `task_dir` when threads were last listed: 2 + number of threads (`fs/proc/base.c`).
    task_links: u64,
    maps_read: Instant,
    /// Changes with every `execve`: where the kernel put the first stack (field 28 of `stat`).
    start_of_stack: u64,
}

impl Target {
    /// Opens a process that was admitted.
    pub fn open(pid: u32, process: ProcessId, modules: &ModuleStore) -> io::Result<Self> {
        let mut target = Target {
            pid,
            process,
            memory: LiveMemory::of(pid),
            space: AddressSpace::new(modules, []),
            unwinder: Unwinder::default(),
            python: TargetPython::default(),
            threads: Vec::new(),
            life: Life::Running,
            task_dir: File::open(format!("/proc/{pid}/task"))?,
            task_links: 0,
            maps_read: Instant(0),
            start_of_stack: 0,
        };
        target.read_maps(modules);
        Ok(target)
    }

    /// Lists the threads again if their number has changed or one was found gone. New threads are reported, and
    /// become part of the target by [`adopt`](Self::adopt).
    pub fn refresh_threads(&mut self) -> ThreadNews {
        let mut news = ThreadNews::default();
        let gone = self.threads.iter().any(|thread| thread.is_gone);
        let links = self.task_dir.metadata().map_or(0, |metadata| metadata.nlink());
        if !gone && links == self.task_links {
            return news;
        }
        self.task_links = links;
        let mut listed: Vec<u32> = fs::read_dir(format!("/proc/{}/task", self.pid))
            .map(|entries| {
                entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
            })
            .unwrap_or_default();
        listed.sort_unstable();
        // A thread that was found gone may share its number with a new one, or be a zombie still listed.
        let (stay, ended) = std::mem::take(&mut self.threads)
            .into_iter()
            .partition(|thread| !thread.is_gone && listed.binary_search(&thread.tid).is_ok());
        self.threads = stay;
        news.ended = ended;
        news.began =
            listed.into_iter().filter(|&tid| self.threads.iter().all(|thread| thread.tid != tid)).collect();
        news
    }

    /// Looks at a new thread from now on. A thread that has ended since it was listed is no trouble, and neither is
    /// the main thread of a process that lives on without it, which stays listed as a zombie.
    pub fn adopt(&mut self, tid: u32) {
        if let Ok(thread) = TargetThread::open(self.pid, tid)
            && thread.state().is_ok_and(|state| state != TaskState::Dead)
        {
            self.threads.push(thread);
        }
    }

    /// Says that a thread has ended; it is taken off the list before the next tick.
    pub fn thread_is_gone(&mut self, index: usize) {
        if let Some(thread) = self.threads.get_mut(index) {
            thread.is_gone = true;
        }
    }

    /// Reads the mappings again when `news` and the time since call for it; whether they were read.
    pub fn refresh_maps(&mut self, news: MapsNews, modules: &ModuleStore) -> bool {
        let age_ns = Instant::now().ns_since(self.maps_read);
        let due = match news {
            MapsNews::Routine => age_ns > MAPS_OLD_AFTER_NS,
            MapsNews::UnknownCode => age_ns > MAPS_YOUNG_FOR_NS,
        };
        if due {
            self.read_maps(modules);
        }
        due
    }

    fn read_maps(&mut self, modules: &ModuleStore) {
        self.maps_read = Instant::now();
        let start_of_stack = self.start_of_stack();
        if start_of_stack != self.start_of_stack {
            // Another program since: nothing that was known of the interpreter holds.
            self.start_of_stack = start_of_stack;
            self.python = TargetPython::default();
        }
        // An error means that the process is ending; its threads will tell.
        if let Ok(mappings) = read_mappings(self.pid, &self.memory, modules) {
            self.python.look_for_candidates(&mappings, modules);
            self.space = AddressSpace::new(modules, mappings);
        }
    }

    fn start_of_stack(&self) -> u64 {
        Process::new(self.pid as i32).and_then(|process| process.stat()).map_or(0, |stat| stat.startstack)
    }

    /// Reads the Python frames of a thread.
    pub fn capture_python(&mut self, index: usize, out: &mut PythonCapture) -> PythonSight<()> {
        match self.threads.get_mut(index) {
            Some(thread) => self.python.capture(thread, &self.memory, out),
            None => PythonSight::None,
        }
    }

    /// Whether the thread held its interpreter's GIL when the tick began.
    pub fn holds_gil(&self, index: usize) -> bool {
        self.threads.get(index).is_some_and(|thread| self.python.holds_gil(thread))
    }

    /// Whether a futex word is one with which the interpreter's GIL is waited for.
    pub fn is_gil_wait(&self, futex: Avma) -> bool {
        self.python.is_gil_wait(futex)
    }

    /// Learns how far the frame pointer lies above the stack pointer where the captured thread sleeps, from its
    /// registers, which are all known.
    pub fn learn_frame_depth(&mut self, capture: &Capture, scratch: &mut NativeStack) {
        self.unwinder.learn_frame_depth(&self.space, &capture.registers, &capture.stack, scratch);
    }
}

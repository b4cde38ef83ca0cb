//! A process that is looked at: its memory, its code, its interpreter and its threads.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

use stackclock_collapse::ProcessId;
use stackclock_unwinder::native::{AddressSpace, ModuleStore, NativeStack, Unwinder};
use stackclock_unwinder::python::{PythonCapture, Reading, RunningReader};
use stackclock_unwinder::{Avma, Capture};

use super::interpreter::TargetPython;
use super::maps::Maps;
use super::thread::TargetThread;
use crate::backend::PythonSight;
use crate::clock::Instant;
use crate::memory::LiveMemory;
use crate::proc::{KeptOpen, TaskState};

/// Mappings are read again after this time, for code that was unmapped or replaced.
const MAPS_OLD_AFTER_NS: u64 = 500_000_000;
/// A program that replaces itself mostly does so soon after it was started: until a process has been looked at for
/// this long, every tick asks whether it has.
const MAY_EXEC_FOR_NS: u64 = 1_000_000_000;

/// What came of code in no known module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownCode {
    /// The mappings have been read anew.
    MapsRead,
    /// They were read in vain so recently that it is not worth while yet.
    TooEarly,
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
    maps: Maps,
    opened: Instant,
    maps_read: Instant,
    /// How long after `maps_read` code in no known module makes us read the mappings again: not at all at first, longer
    /// and longer for code that stays unknown.
    patience_ns: u64,
    stat: KeptOpen,
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
            maps: Maps::default(),
            opened: Instant::now(),
            maps_read: Instant(0),
            patience_ns: 0,
            stat: KeptOpen::open(format!("/proc/{pid}/stat"))?,
            start_of_stack: 0,
        };
        target.note_exec();
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

    /// Once per tick: reads the mappings again if they are old, or another program's; whether they were read.
    pub fn refresh_maps(&mut self, now: Instant, modules: &ModuleStore) -> bool {
        let old = now.ns_since(self.maps_read) > MAPS_OLD_AFTER_NS;
        let young = now.ns_since(self.opened) < MAY_EXEC_FOR_NS;
        let replaced = (old || young) && self.note_exec();
        if replaced {
            // Nothing that was known holds.
            self.python = TargetPython::default();
            self.maps = Maps::default();
        }
        if old || replaced {
            self.read_maps(modules);
        }
        old || replaced
    }

    /// An address was in no known module: reads the mappings again, unless that was in vain a short while ago.
    pub fn code_is_unknown(&mut self, modules: &ModuleStore) -> UnknownCode {
        if Instant::now().ns_since(self.maps_read) < self.patience_ns {
            return UnknownCode::TooEarly;
        }
        self.patience_ns = (self.patience_ns * 2).clamp(1_000_000, MAPS_OLD_AFTER_NS);
        self.read_maps(modules);
        UnknownCode::MapsRead
    }

    /// Reading the mappings again has made the unknown code known.
    pub fn code_is_known(&mut self) {
        self.patience_ns = 0;
    }

    fn read_maps(&mut self, modules: &ModuleStore) {
        self.maps_read = Instant::now();
        // An error means that the process is ending; its threads will tell.
        if let Ok(Some(mappings)) = self.maps.read(self.pid, &self.memory, modules) {
            self.python.look_for_candidates(&mappings, modules);
            self.space = AddressSpace::new(modules, mappings);
        }
    }

    /// Whether the process has executed another program since this was last asked.
    fn note_exec(&mut self) -> bool {
        let Ok(start_of_stack) = self.stat.read(start_of_stack) else { return false };
        let before = std::mem::replace(&mut self.start_of_stack, start_of_stack);
        before != start_of_stack
    }

    /// Reads the Python frames of a thread.
    pub fn capture_python(&mut self, index: usize, out: &mut PythonCapture) -> PythonSight<()> {
        match self.threads.get_mut(index) {
            Some(thread) => self.python.capture(thread, &self.memory, out),
            None => PythonSight::None,
        }
    }

    /// Reads the Python frames of a thread that runs on.
    pub fn capture_running_python(
        &mut self,
        index: usize,
        reader: &mut RunningReader,
        out: &mut PythonCapture,
    ) -> PythonSight<Reading> {
        match self.threads.get_mut(index) {
            Some(thread) => self.python.capture_running(thread, &self.memory, reader, out),
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

/// Field 28 of `stat` (`proc_pid_stat(5)`): random for every `execve`, unless randomisation is off.
fn start_of_stack(line: &str) -> Option<u64> {
    const FIELD: usize = 28;
    /// The state, the first field behind the name.
    const STATE: usize = 3;
    let (_, fields) = line.rsplit_once(") ")?;
    fields.split_ascii_whitespace().nth(FIELD - STATE)?.parse().ok()
}

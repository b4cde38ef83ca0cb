//! A CPython runtime in the target: its interpreters and thread states.

use rustc_hash::FxHashSet;

use super::gil::{self, Gil, GilSymbols};
use super::layout::{self, Layout};
use super::snapshot::{LoopGuard, Piece, Snapshot, avma_at, field, u64_at};
use super::thread_id::TidPlace;
use super::{PythonError, PythonVersion};
use crate::{Avma, Memory};

/// Where a CPython runtime is, as its discovery found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Its version; it decides the layout of everything.
    pub version: PythonVersion,
    /// `_PyRuntime`; the variable `interp_head` for 3.6.
    pub runtime: Avma,
    /// The process's id in its own PID namespace, that is, the tid of its main thread.
    pub pid: u32,
    /// The lock's variables, for 3.6 only.
    pub gil_symbols: Option<GilSymbols>,
}

/// A thread as one interpreter knows it. A thread of the operating system may have several, one per interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PythonThread {
    /// Its `PyThreadState`.
    pub tstate: Avma,
    /// Its tid in the target's PID namespace; 0 when the thread state belongs to no thread (yet, or any more).
    pub native_tid: u32,
    /// Its `pthread_t`, Python's `threading.get_ident()`; 0 when `native_tid` is.
    pub thread_id: Avma,
    /// Index of its interpreter; 0 is the one made last, the main interpreter has the highest.
    pub interpreter: usize,
}

/// A word of the target that changes when a thread state or interpreter is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Watched {
    address: Avma,
    expected: u64,
}

/// A CPython runtime in the target.
#[derive(Debug)]
pub struct Interpreter {
    location: Location,
    layout: Layout,
    threads: Vec<PythonThread>,
    gils: Vec<Gil>,
    tid_place: TidPlace,
    watched: Vec<Watched>,
    pieces: Vec<Piece>,
    snapshot: Snapshot,
}

const MAX_INTERPRETERS: usize = 1024;
const MAX_THREADS: usize = 1 << 14;

impl Interpreter {
    /// Prepares to read the runtime at `location`: chooses the layout, or reads it from the target (3.13 on),
    /// and lists the threads.
    pub fn new(location: Location, memory: &impl Memory) -> Result<Interpreter, PythonError> {
        let layout = match layout::layout_of(location.version) {
            Some(layout) => layout,
            None => layout::read_debug_offsets(location.runtime, location.version, memory)?,
        };
        let mut interpreter = Interpreter {
            location,
            layout,
            threads: Vec::new(),
            gils: Vec::new(),
            tid_place: TidPlace::default(),
            watched: Vec::new(),
            pieces: Vec::new(),
            snapshot: Snapshot::default(),
        };
        interpreter.refresh_threads(memory)?;
        Ok(interpreter)
    }

    /// Where this runtime is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn tid_place(&self) -> &TidPlace {
        &self.tid_place
    }

    /// The thread states of all interpreters, as of the last refresh.
    pub fn threads(&self) -> &[PythonThread] {
        &self.threads
    }

    /// Rereads the lists of interpreters and thread states. They change while they are read: a list that leads
    /// nowhere is an error, and worth another try at the next tick; the previous list is then kept.
    pub fn refresh_threads(&mut self, memory: &impl Memory) -> Result<(), PythonError> {
        let mut threads = Vec::with_capacity(self.threads.len());
        let mut interpreters = Vec::new();
        let first = self.interpreters_head();
        let mut address = Avma(memory.read_u64(first)?);
        let mut watched = vec![Watched { address: first, expected: address.0 }];
        while address.0 != 0 {
            if interpreters.len() == MAX_INTERPRETERS {
                return Err(PythonError::TooMany("interpreters"));
            }
            let head = field(address, self.layout.interpreter.threads_head);
            let newest = Avma(memory.read_u64(head)?);
            watched.push(Watched { address: head, expected: newest.0 });
            let before = threads.len();
            self.list_threads(newest, interpreters.len(), memory, &mut threads)?;
            self.tell_newcomers(threads.get_mut(before..).unwrap_or_default(), &mut watched);
            interpreters.push(address);
            address = Avma(memory.read_u64(field(address, self.layout.interpreter.next))?);
        }
        if self.layout.thread.native_thread_id.is_none() {
            self.tid_place.find(self.location.pid, &threads, memory);
            for thread in &mut threads {
                thread.native_tid = self.tid_place.read(thread.thread_id, memory);
            }
        }
        gil::find_gils(&self.layout.gil, &self.location, &interpreters, memory, &mut self.gils)?;
        self.watched = watched;
        self.threads = threads;
        Ok(())
    }

    /// Finds the states of one interpreter that have no thread of their own yet, and what is to be watched.
    ///
    /// A state is made by the thread that starts another one, and says until the new thread runs that it belongs
    /// to its maker (up to 3.11) or to nobody; when that changes, no list does. The newest one is watched in any
    /// case, since it may be freed and made again in the same place.
    fn tell_newcomers(&self, threads: &mut [PythonThread], watched: &mut Vec<Watched>) {
        let mut owners = FxHashSet::default();
        for (index, thread) in threads.iter_mut().enumerate().rev() {
            let newcomer = thread.thread_id.0 == 0 || !owners.insert(thread.thread_id);
            if newcomer || index == 0 {
                watched.extend(self.identity(thread));
            }
            if newcomer {
                (thread.thread_id, thread.native_tid) = (Avma(0), 0);
            }
        }
    }

    /// What the state of a thread says of its thread.
    fn identity(&self, thread: &PythonThread) -> impl Iterator<Item = Watched> + use<> {
        let layout = &self.layout.thread;
        let ident = Watched { address: field(thread.tstate, layout.thread_id), expected: thread.thread_id.0 };
        let native = layout
            .native_thread_id
            .map(|at| Watched { address: field(thread.tstate, at), expected: u64::from(thread.native_tid) });
        std::iter::once(ident).chain(native)
    }

    /// Whether a thread state or interpreter has been made since the last refresh; one read. New ones come first
    /// in their lists, so the first ones tell. (Thread states that went away are found out by `capture`.) What
    /// cannot be read has changed.
    pub fn threads_changed(&mut self, memory: &impl Memory) -> bool {
        self.snapshot.clear();
        self.pieces.clear();
        self.pieces.extend(self.watched.iter().map(|word| Piece::new(word.address, 8)));
        if self.snapshot.fetch(&mut self.pieces, memory).is_err() {
            return true;
        }
        self.watched.iter().any(|word| {
            self.snapshot.get(Piece::new(word.address, 8)).is_none_or(|now| u64_at(now, 0) != word.expected)
        })
    }

    fn interpreters_head(&self) -> Avma {
        field(self.location.runtime, self.layout.interpreters_head)
    }

    fn list_threads(
        &self,
        head: Avma,
        interpreter: usize,
        memory: &impl Memory,
        threads: &mut Vec<PythonThread>,
    ) -> Result<(), PythonError> {
        let layout = &self.layout.thread;
        let mut bytes = vec![0; layout.extent];
        let mut tstate = head;
        let mut guard = LoopGuard::default();
        while tstate.0 != 0 {
            guard.visit(tstate, "thread states")?;
            if threads.len() == MAX_THREADS {
                return Err(PythonError::TooMany("thread states"));
            }
            memory.read(tstate, &mut bytes)?;
            threads.push(PythonThread {
                tstate,
                native_tid: layout.native_thread_id.map_or(0, |at| u64_at(&bytes, at) as u32),
                thread_id: avma_at(&bytes, layout.thread_id),
                interpreter,
            });
            tstate = avma_at(&bytes, layout.next);
        }
        Ok(())
    }

    /// The thread states that hold a lock now; one read per lock, of which there is one unless subinterpreters
    /// have their own (PEP 684). Free-threaded builds have a holder only while their lock is enabled.
    pub fn gil_holders(&self, memory: &impl Memory, holders: &mut Vec<Avma>) -> Result<(), PythonError> {
        holders.clear();
        for gil in &self.gils {
            holders.extend(gil.holder(memory)?);
        }
        Ok(())
    }

    /// Whether a thread that sleeps on the futex at `futex` waits for an interpreter lock.
    pub fn is_gil_wait(&self, futex: Avma) -> bool {
        self.gils.iter().any(|gil| gil.contains(futex))
    }
}

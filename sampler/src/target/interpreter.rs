//! The CPython in a target: found, watched while it starts, and read at every tick.

use std::time::Duration;

use py_spy::python_process_info::{PythonProcessInfo, get_python_version};
use stackclock_unwinder::merge::EvalCode;
use stackclock_unwinder::native::{Mapped, Mapping, ModuleStore};
use stackclock_unwinder::python::{
    CodeCache, CodeTable, Interpreter, Location, PythonCapture, PythonStack, PythonThread, PythonVersion,
    Reading, RunningReader,
};
use stackclock_unwinder::{Avma, ModuleId};

use super::thread::{TargetThread, tid_inside};
use crate::backend::PythonSight;
use crate::clock::Instant;
use crate::memory::LiveMemory;

/// An interpreter that is not ready yet (just launched) is looked at again after this time, then after twice,
/// four times ... as long.
const FIRST_RETRY: Duration = Duration::from_millis(5);
/// The longest time between two looks.
const LAST_RETRY: Duration = Duration::from_secs(1);

/// What is known of the interpreter of a target.
#[derive(Debug, Default)]
pub struct TargetPython {
    search: Search,
    /// Mapped files that look like CPython.
    candidates: Vec<ModuleId>,
    /// Thread states that hold a GIL in this tick.
    holders: Vec<Avma>,
    /// Which native code is the interpreter's loop.
    eval: EvalCode,
}

#[derive(Debug, Default)]
enum Search {
    /// No mapped file looks like CPython.
    #[default]
    NoCandidate,
    /// One does; not found yet, or not ready.
    Candidate { retry_at: Instant, retry_after: Duration },
    /// Found.
    Found(Box<Found>),
}

/// An interpreter that is read, and its code objects.
#[derive(Debug)]
struct Found {
    interpreter: Interpreter,
    codes: CodeCache,
}

impl TargetPython {
    /// Looks for CPython among the mapped files, each time that they have changed.
    pub fn look_for_candidates(&mut self, mappings: &[Mapping], modules: &ModuleStore) {
        for mapping in mappings {
            if let Mapped::Module(id) = mapping.mapped
                && !self.candidates.contains(&id)
                && let Some(module) = modules.get(id)
                && looks_like_cpython(module.path())
            {
                self.candidates.push(id);
                self.eval.add_interpreter(&module);
            }
        }
        if matches!(self.search, Search::NoCandidate) && !self.candidates.is_empty() {
            self.search = Search::Candidate { retry_at: Instant(0), retry_after: FIRST_RETRY };
        }
    }

    /// Once per tick and before anything else: finds an interpreter that has become ready, learns of new threads
    /// and of who holds the GIL.
    pub fn begin_tick(&mut self, pid: u32, now: Instant, memory: &LiveMemory) {
        if let Search::Candidate { retry_at, retry_after } = self.search
            && now >= retry_at
        {
            self.search = match find(pid, memory) {
                Some(interpreter) => {
                    Search::Found(Box::new(Found { interpreter, codes: CodeCache::default() }))
                }
                None => Search::Candidate {
                    retry_at: Instant::now().plus_ns(retry_after.as_nanos() as u64),
                    retry_after: (retry_after * 2).min(LAST_RETRY),
                },
            };
        }
        if let Search::Found(found) = &mut self.search {
            let interpreter = &mut found.interpreter;
            // Lists that change while they are read are read again at the next tick.
            if interpreter.threads_changed(memory) {
                let _ = interpreter.refresh_threads(memory);
            }
            if interpreter.gil_holders(memory, &mut self.holders).is_err() {
                self.holders.clear();
            }
        }
    }

    /// The interpreter, when there is one.
    pub fn interpreter(&self) -> Option<&Interpreter> {
        match &self.search {
            Search::Found(found) => Some(&found.interpreter),
            _ => None,
        }
    }

    /// Its version, when there is one.
    pub fn version(&self) -> Option<PythonVersion> {
        self.interpreter().map(|interpreter| interpreter.location().version)
    }

    /// Reads the Python frames of a thread that stands still.
    pub fn capture(
        &self,
        thread: &mut TargetThread,
        memory: &LiveMemory,
        out: &mut PythonCapture,
    ) -> PythonSight<()> {
        let Some((interpreter, state)) = self.state_of(thread) else { return PythonSight::None };
        match interpreter.capture(&state, &mut thread.python_hints, memory, out) {
            Ok(()) => PythonSight::Captured(()),
            Err(_) => PythonSight::Failed,
        }
    }

    /// Reads the Python frames of a thread that runs on.
    pub fn capture_running(
        &self,
        thread: &mut TargetThread,
        memory: &LiveMemory,
        reader: &mut RunningReader,
        out: &mut PythonCapture,
    ) -> PythonSight<Reading> {
        let Some((interpreter, state)) = self.state_of(thread) else { return PythonSight::None };
        match interpreter.capture_running(&state, &mut thread.python_hints, memory, reader, out) {
            Ok(reading) => PythonSight::Captured(reading),
            Err(_) => PythonSight::Failed,
        }
    }

    fn state_of(&self, thread: &TargetThread) -> Option<(&Interpreter, PythonThread)> {
        let interpreter = self.interpreter()?;
        let state = interpreter.threads().iter().find(|state| thread.is_state_of(state))?;
        Some((interpreter, *state))
    }

    /// Which native code is the interpreter's loop; merging learns it.
    pub fn eval_code(&mut self) -> &mut EvalCode {
        &mut self.eval
    }

    /// Gives captured frames their code objects and lines.
    pub fn resolve(
        &mut self,
        capture: &PythonCapture,
        memory: &LiveMemory,
        codes: &mut CodeTable,
        out: &mut PythonStack,
    ) {
        if let Search::Found(found) = &mut self.search {
            codes.resolve(&found.interpreter, &mut found.codes, capture, memory, out);
        }
    }

    /// Whether the thread held its interpreter's GIL when the tick began.
    pub fn holds_gil(&self, thread: &TargetThread) -> bool {
        !self.holders.is_empty()
            && self.interpreter().is_some_and(|interpreter| {
                let mut states = interpreter.threads().iter().filter(|state| thread.is_state_of(state));
                states.any(|state| self.holders.contains(&state.tstate))
            })
    }

    /// Whether a futex word is one with which a GIL is waited for.
    pub fn is_gil_wait(&self, futex: Avma) -> bool {
        self.interpreter().is_some_and(|interpreter| interpreter.is_gil_wait(futex))
    }
}

fn looks_like_cpython(path: &str) -> bool {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.starts_with("libpython") || name.starts_with("python")
}

/// Finds the interpreter with py-spy's discovery, which knows static, shared, stripped and containerised Pythons.
/// `None` while there is none that is ready.
fn find(pid: u32, memory: &LiveMemory) -> Option<Interpreter> {
    let process = remoteprocess::Process::new(pid as i32).ok()?;
    let info = PythonProcessInfo::new(&process).ok()?;
    let version = get_python_version(&info, &process).ok()?;
    let version = PythonVersion {
        major: u8::try_from(version.major).ok()?,
        minor: u8::try_from(version.minor).ok()?,
        patch: u8::try_from(version.patch).ok()?,
    };
    let section = [&info.libpython_binary, &info.python_binary]
        .into_iter()
        .flatten()
        .map(|binary| binary.pyruntime_addr)
        .find(|&address| address != 0);
    let runtime =
        info.get_symbol("_PyRuntime").or_else(|| info.get_symbol("interp_head")).copied().or(section)?;
    let location = Location {
        version,
        runtime: Avma(runtime),
        pid: tid_inside(pid, pid).unwrap_or(pid),
        gil_symbols: None,
    };
    Interpreter::new(location, memory).ok()
}

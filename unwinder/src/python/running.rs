//! Frames of a thread that runs while it is read, and is not stopped for it.
//!
//! All memory that the thread's last sample needed is read twice in one call, the thread state first and last:
//!
//! ```text
//!   one process_vm_readv   tstate │ frames │ frames │ tstate
//!                          └── before ────┘ └──── after ───┘
//! ```
//!
//! Both copies are walked. Equal chains are taken for the frames of one instant: the same frames at the same
//! addresses, running the same code, at the same instructions but for the leaf. A frame that returned and one that was
//! called at the same address in its place, within these two or three microseconds, would not be noticed. What still
//! differs after some tries is left out: the frames on the root's side that both copies agree on are right.

use std::cell::Cell;

use super::{Interpreter, PythonCapture, PythonError, PythonThread, ThreadHints, identity};
use crate::{Avma, Memory, MemoryError, ReadPart};

/// With a leaf of a microsecond, 96 % of reads agree within so many tries; all do with one of ten.
const TRIES: usize = 8;

/// How much of a running thread's frames was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// All of them.
    Whole,
    /// Those on the root's side; the innermost ones were being entered and left.
    RootSide,
}

/// Working memory of reading running threads; reuse it.
#[derive(Debug, Default)]
pub struct RunningReader {
    before: PythonCapture,
    after: PythonCapture,
}

impl Interpreter {
    /// Reads the Python frames of `thread`, which runs. [`PythonError::ThreadGone`] as for
    /// [`capture`](Interpreter::capture); on any error `out` is empty.
    pub fn capture_running(
        &self,
        thread: &PythonThread,
        hints: &mut ThreadHints,
        memory: &impl Memory,
        reader: &mut RunningReader,
        out: &mut PythonCapture,
    ) -> Result<Reading, PythonError> {
        out.clear();
        let mut reading = Reading::RootSide;
        for _ in 0..TRIES {
            match self.read_twice(thread, hints, memory, reader) {
                Ok(Agreement::Whole) => {
                    std::mem::swap(out, &mut reader.after);
                    reading = Reading::Whole;
                    break;
                }
                Ok(Agreement::Outermost(frames)) if frames > out.len() => {
                    reader.after.keep_outermost(frames);
                    std::mem::swap(out, &mut reader.after);
                }
                Err(gone @ PythonError::ThreadGone(_)) => {
                    out.clear();
                    return Err(gone);
                }
                // Torn: once more.
                Ok(Agreement::Outermost(_)) | Err(_) => {}
            }
        }
        let read = identity::read_codes(self.layout(), memory, out);
        if read.is_err() {
            out.clear();
        }
        read.map(|()| reading)
    }

    /// One try. Leaves in `hints` what it turned out to need.
    fn read_twice(
        &self,
        thread: &PythonThread,
        hints: &mut ThreadHints,
        memory: &impl Memory,
        reader: &mut RunningReader,
    ) -> Result<Agreement, PythonError> {
        let RunningReader { before, after } = reader;
        before.clear();
        after.clear();
        let [tstate, tid] = self.owner(thread);
        hints.pieces.push(tid);
        let (first, last) = (&mut before.scratch.snapshot, &mut after.scratch.snapshot);
        if let Err(error) = first.fetch_twice(last, tstate, &mut hints.pieces, memory) {
            // Something is not mapped any more: find out anew what is needed.
            hints.pieces.clear();
            return Err(error.into());
        }
        let mut inside = true;
        for capture in [before, after] {
            capture.scratch.used.push(tid);
            self.check_owner(thread, tstate, tid, &capture.scratch.snapshot)?;
            let outside = ReadsOutside { memory, any: Cell::new(false) };
            self.walk(thread, &outside, capture)?;
            inside &= !outside.any.get();
        }
        let scratch = &mut reader.after.scratch;
        scratch.used.sort_unstable();
        scratch.used.dedup();
        hints.pieces.clear();
        hints.pieces.extend_from_slice(&scratch.used);
        match inside {
            true => Ok(Agreement::of(&reader.before, &reader.after)),
            // Frames were met that the double read had not covered: the next one does.
            false => Ok(Agreement::Outermost(0)),
        }
    }
}

/// How far two walks agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agreement {
    Whole,
    /// This many frames, from the root on.
    Outermost(usize),
}

impl Agreement {
    fn of(before: &PythonCapture, after: &PythonCapture) -> Agreement {
        let pairs = before.steps().rev().zip(after.steps().rev());
        let same = pairs.clone().take_while(|(before, after)| before == after).count();
        let leaf_runs_on = || {
            pairs.skip(same).all(|(before, after)| (before.frame, before.code) == (after.frame, after.code))
        };
        match before.len() == after.len() && before.runs == after.runs {
            true if same == after.len() => Agreement::Whole,
            true if same + 1 == after.len() && leaf_runs_on() => Agreement::Whole,
            _ => Agreement::Outermost(same),
        }
    }
}

/// Memory that notices being read.
struct ReadsOutside<'a, M> {
    memory: &'a M,
    any: Cell<bool>,
}

impl<M: Memory> Memory for ReadsOutside<'_, M> {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        self.any.set(true);
        self.memory.read(address, into)
    }

    fn read_many(&self, parts: &mut [ReadPart<'_>]) -> Result<(), MemoryError> {
        self.any.set(true);
        self.memory.read_many(parts)
    }
}

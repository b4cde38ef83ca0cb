//! What is read of a Python thread while it stands still.
//!
//! ```text
//!   PyThreadState ──► innermost frame ──previous──► frame ──previous──► ... ──► outermost frame
//!                          │ code                     │ code
//!                          ▼                          ▼
//!                      PyCodeObject               PyCodeObject     identity bytes only
//! ```
//!
//! The memory that the thread's last capture turned out to need is read first, all in one call: mostly that is
//! everything. Names and lines are looked up later, when the thread runs again ([`CodeTable`](super::CodeTable)).

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::layout::{FrameModel, Layout};
use super::snapshot::{Piece, Snapshot, avma_at, field, u32_at, u64_at};
use super::walk::{self, Walk};
use super::{CodeIdentity, Interpreter, PythonError, PythonThread, identity};
use crate::{Avma, Memory};

/// Memory that a thread's last capture needed, so that the next one reads it in one call.
#[derive(Clone, Debug, Default)]
pub struct ThreadHints {
    pub(crate) pieces: Vec<Piece>,
}

/// Where a run of Python frames is anchored on the C stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// 3.10 on: an object in the C frame of the interpreter's loop: a `CFrame` or, from 3.12 on, a shim.
    Address(Avma),
    /// Up to 3.9: a `PyFrameObject`; the C frame of the loop that runs it has its address in one of its words.
    Word(Avma),
    /// Not known: the loop was just being entered or left.
    Unknown,
}

/// Python frames that one C frame of the interpreter's loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PythonRun {
    /// Which C frame.
    pub anchor: Anchor,
    /// How many frames, going on outwards from the previous run.
    pub frames: u32,
}

/// Where in its bytecode a frame is, as the frame has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Instruction {
    /// Offset in bytes; negative before the first instruction.
    Offset(i32),
    /// Address in the bytecode, or in thread-local copy `tlbc_index` of it.
    Pointer { at: Avma, tlbc_index: u32 },
}

/// A Python frame before its code object is resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CapturedFrame {
    /// Index into `PythonCapture::codes`.
    pub code: u32,
    pub instruction: Instruction,
}

/// The Python frames of one thread at one instant, innermost first, still without names. Reuse it: it
/// allocates only when a stack is larger than all before.
#[derive(Debug, Default)]
pub struct PythonCapture {
    pub(crate) frames: Vec<CapturedFrame>,
    pub(crate) runs: Vec<PythonRun>,
    pub(crate) codes: Vec<CodeIdentity>,
    pub(crate) truncated: bool,
    pub(crate) scratch: Scratch,
}

/// A frame as two captures are compared by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub frame: Avma,
    pub code: Option<Avma>,
    pub instruction: Instruction,
}

/// Working memory of a capture.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub snapshot: Snapshot,
    /// What this capture has used; becomes the thread's hints.
    pub used: Vec<Piece>,
    pub wanted: Vec<Piece>,
    /// The addresses of `PythonCapture::frames`.
    pub frame_addresses: Vec<Avma>,
    pub code_addresses: Vec<Avma>,
    pub code_index: FxHashMap<Avma, u32>,
    pub cframes: Vec<Avma>,
    pub chunks: Vec<Range<u64>>,
}

impl PythonCapture {
    /// Number of frames, hidden ones included.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether the thread runs no Python code.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.clear_frames();
        self.scratch.snapshot.clear();
        self.scratch.used.clear();
    }

    /// Forgets the frames, to walk once more.
    pub(crate) fn clear_frames(&mut self) {
        self.frames.clear();
        self.runs.clear();
        self.codes.clear();
        self.truncated = false;
        self.scratch.frame_addresses.clear();
        self.scratch.code_addresses.clear();
        self.scratch.code_index.clear();
        self.scratch.chunks.clear();
    }

    /// The frames with their addresses, innermost first.
    pub(crate) fn steps(&self) -> impl DoubleEndedIterator<Item = Step> + ExactSizeIterator + Clone {
        let frames = self.frames.iter().zip(&self.scratch.frame_addresses);
        frames.map(|(captured, &frame)| Step {
            frame,
            code: self.scratch.code_addresses.get(captured.code as usize).copied(),
            instruction: captured.instruction,
        })
    }

    /// Forgets the innermost frames, so that `count` are left.
    pub(crate) fn keep_outermost(&mut self, count: usize) {
        let mut surplus = self.frames.len().saturating_sub(count);
        self.frames.drain(..surplus);
        self.scratch.frame_addresses.drain(..surplus);
        for run in &mut self.runs {
            let cut = surplus.min(run.frames as usize);
            run.frames -= cut as u32;
            surplus -= cut;
        }
    }

    /// Adds a frame to the last run.
    pub(crate) fn push(
        &mut self,
        frame: Avma,
        code: Avma,
        instruction: Instruction,
    ) -> Result<(), PythonError> {
        if code.0 == 0 || !code.0.is_multiple_of(8) {
            return Err(PythonError::BadPointer { what: "a code object", address: code });
        }
        let next = self.scratch.code_addresses.len() as u32;
        let code_index = *self.scratch.code_index.entry(code).or_insert(next);
        if code_index == next {
            self.scratch.code_addresses.push(code);
        }
        self.frames.push(CapturedFrame { code: code_index, instruction });
        self.scratch.frame_addresses.push(frame);
        Ok(())
    }
}

impl Interpreter {
    /// Reads the Python frames of `thread`, which must stand still meanwhile: it is stopped, or it sleeps and is
    /// checked afterwards not to have run. On an error `out` is empty.
    ///
    /// [`PythonError::ThreadGone`] means that the thread state is another thread's now: refresh the threads.
    pub fn capture(
        &self,
        thread: &PythonThread,
        hints: &mut ThreadHints,
        memory: &impl Memory,
        out: &mut PythonCapture,
    ) -> Result<(), PythonError> {
        out.clear();
        let outcome = self.read_frames(thread, hints, memory, out);
        hints.pieces.clear();
        match outcome {
            Ok(()) => {
                out.scratch.used.sort_unstable();
                out.scratch.used.dedup();
                hints.pieces.extend_from_slice(&out.scratch.used);
            }
            Err(_) => out.clear(),
        }
        outcome
    }

    fn read_frames(
        &self,
        thread: &PythonThread,
        hints: &ThreadHints,
        memory: &impl Memory,
        out: &mut PythonCapture,
    ) -> Result<(), PythonError> {
        let [tstate, tid] = self.owner(thread);
        let owner = &mut [tstate, tid];
        let Scratch { snapshot, used, wanted, .. } = &mut out.scratch;
        used.extend_from_slice(owner);
        wanted.clear();
        wanted.extend_from_slice(owner);
        wanted.extend_from_slice(&hints.pieces);
        // Hinted memory that is not mapped any more fails the whole call: then without hints.
        if snapshot.fetch(wanted, memory).is_err() {
            snapshot.clear();
            snapshot.fetch(owner, memory)?;
        }
        self.check_owner(thread, tstate, tid, &out.scratch.snapshot)?;
        self.walk(thread, memory, out)?;
        identity::read_codes(self.layout(), memory, out)
    }

    /// The thread state, and where its thread's tid is: inside it, from 3.11 on.
    pub(crate) fn owner(&self, thread: &PythonThread) -> [Piece; 2] {
        let layout = &self.layout().thread;
        let tid = match layout.native_thread_id {
            Some(at) => field(thread.tstate, at),
            None => self.tid_place().address(thread.thread_id),
        };
        [Piece::new(thread.tstate, layout.extent), Piece::new(tid, 4)]
    }

    /// Collects the frames, reading what is not in the snapshot yet.
    pub(crate) fn walk(
        &self,
        thread: &PythonThread,
        memory: &impl Memory,
        out: &mut PythonCapture,
    ) -> Result<(), PythonError> {
        let layout = self.layout();
        let mut walk = Walk { layout, tstate: thread.tstate, memory, out };
        match &layout.frames {
            FrameModel::Heap(frames) => walk::heap_frames(&mut walk, frames),
            FrameModel::Stacked(frames) => walk::stacked_frames(&mut walk, frames),
        }
    }

    /// Checks that the thread state is still that of the thread.
    pub(crate) fn check_owner(
        &self,
        thread: &PythonThread,
        tstate: Piece,
        tid: Piece,
        snapshot: &Snapshot,
    ) -> Result<(), PythonError> {
        let gone = PythonError::ThreadGone(thread.tstate);
        let layout: &Layout = self.layout();
        let bytes = snapshot.get(tstate).ok_or(gone)?;
        let native = match layout.thread.native_thread_id {
            Some(at) => u64_at(bytes, at),
            None => u64::from(u32_at(snapshot.get(tid).ok_or(gone)?, 0)),
        };
        let same = avma_at(bytes, layout.thread.thread_id) == thread.thread_id
            && native == u64::from(thread.native_tid);
        if same { Ok(()) } else { Err(gone) }
    }
}

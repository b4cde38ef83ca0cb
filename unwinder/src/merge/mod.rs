//! One stack of the native frames and the Python frames of a thread, by address and never by counting.
//!
//! ```text
//!   stack    native frames          Python frames               merged
//!   low      read                                               read
//!            os_read                                            os_read
//!            eval loop  ┌ anchor ── leaf, helper                leaf, helper
//!            sorted     │                                       sorted
//!            eval loop  ┌ anchor ── main                        main
//!   high     _start                                             _start
//! ```
//!
//! A native frame's extent on the stack is `[sp, cfa)`. Whichever frame's extent holds the anchor of a run of Python
//! frames is the frame that runs them: they take its place, and its function is the interpreter's loop from then
//! on ([`EvalCode`]). A frame of the loop without an anchor is just entering or leaving, or belongs to another
//! greenlet whose frames still lie on the stack: it says nothing and is left out.
//!
//! Where native frames may be missing because their code could not be unwound, and the loop beyond was found by an
//! anchor ([`resume_at_anchor`]), a [`RawFrame::Gap`] says so and why.
//!
//! The order is leaf first, as in [`NativeStack`] and [`PythonStack`].

mod eval_code;
mod resume;
#[cfg(test)]
mod tests;

pub use eval_code::EvalCode;
pub use resume::resume_at_anchor;

use crate::native::{FoundBy, NativeFrame, NativeStack, StackEnd};
use crate::python::{Anchor, PythonFrame, PythonRun, PythonStack};
use crate::{Avma, Memory, RawFrame, Truncation};

/// What became of the Python frames of one stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MergeOutcome {
    /// Runs that took the place of a native frame.
    pub placed: u32,
    /// Runs whose anchor is below the innermost native frame: the loop that ran them has returned. Their frames are left out.
    pub dropped: u32,
    /// Runs without a place: their frames are the outermost of the stack, where the native stack was truncated before it
    /// reached them (then [`RawFrame::Truncated`] is beyond them), or the anchor is in no native frame.
    pub unplaced: u32,
    /// Native frames of the interpreter's loop without an anchor.
    pub unanchored: u32,
}

/// Merges the native frames and the Python frames of one thread at one instant into `out`, leaf first. `stack` gives
/// the bytes of the thread's stack, which are looked at for Pythons up to 3.9.
pub fn merge(
    native: &NativeStack,
    stack: &impl Memory,
    python: &PythonStack,
    eval: &mut EvalCode,
    out: &mut Vec<RawFrame>,
) -> MergeOutcome {
    out.clear();
    let mut outcome = MergeOutcome::default();
    let mut runs = Runs { runs: &python.runs, frames: &python.frames };
    let mut zone_start = native.frames.first().map_or(Avma(0), |frame| frame.sp);
    for (index, frame) in native.frames.iter().enumerate() {
        if let FoundBy::Anchor(why) = frame.found_by {
            out.push(RawFrame::Gap(why));
        }
        outcome.dropped += runs.drop_left_behind(native, index);
        let is_loop = eval.has(frame);
        let mut placed = 0;
        while let Some(anchor) = runs.anchor() {
            let found = match anchor {
                Anchor::Address(at) => contains(frame, at),
                Anchor::Word(word) if is_loop => {
                    placed == 0 && holds_word(stack, zone_start, frame.cfa, word)
                }
                // No symbol told where the loop is: the next best is the innermost frame that knows the Python frame.
                Anchor::Word(word) => eval.is_empty() && holds_word(stack, frame.sp, frame.cfa, word),
                Anchor::Unknown => false,
            };
            if !found {
                break;
            }
            if let Anchor::Address(at) = anchor {
                eval.learn(frame, at);
            }
            runs.emit(out);
            placed += 1;
        }
        outcome.placed += placed;
        if is_loop || placed > 0 {
            zone_start = frame.cfa;
            outcome.unanchored += u32::from(placed == 0);
        } else {
            out.push(frame.raw());
        }
    }
    while runs.anchor().is_some() {
        runs.emit(out);
        outcome.unplaced += 1;
    }
    match native.end {
        StackEnd::Truncated(reason) => out.push(RawFrame::Truncated(reason)),
        StackEnd::Root if python.truncated => out.push(RawFrame::Truncated(Truncation::TooDeep)),
        StackEnd::Root => {}
    }
    outcome
}

/// The Python frames alone, leaf first, for recordings without native frames.
pub fn python_only(python: &PythonStack, out: &mut Vec<RawFrame>) {
    out.clear();
    out.extend(python.frames.iter().copied().map(raw));
    if python.truncated {
        out.push(RawFrame::Truncated(Truncation::TooDeep));
    }
}

fn raw(frame: PythonFrame) -> RawFrame {
    RawFrame::Python { code: frame.code, line: frame.line }
}

/// The extent of the outermost frame of a truncated stack is not known, and so holds nothing.
fn contains(frame: &NativeFrame, address: Avma) -> bool {
    (frame.sp..frame.cfa).contains(&address)
}

/// The runs that have not been placed yet, with their frames.
struct Runs<'a> {
    runs: &'a [PythonRun],
    frames: &'a [PythonFrame],
}

impl Runs<'_> {
    fn anchor(&self) -> Option<Anchor> {
        self.runs.first().map(|run| run.anchor)
    }

    /// Takes the next run; gives its frames.
    fn take(&mut self) -> &[PythonFrame] {
        let Some((run, runs)) = self.runs.split_first() else { return &[] };
        let count = (run.frames as usize).min(self.frames.len());
        let (taken, frames) = self.frames.split_at(count);
        self.runs = runs;
        self.frames = frames;
        taken
    }

    fn emit(&mut self, out: &mut Vec<RawFrame>) {
        out.extend(self.take().iter().copied().map(raw));
    }

    /// Drops the runs whose anchors lie below native frame `index` and in none of those that follow: these may be on
    /// another stack, when a signal handler has its own.
    fn drop_left_behind(&mut self, native: &NativeStack, index: usize) -> u32 {
        let Some(rest) = native.frames.get(index..) else { return 0 };
        let mut dropped = 0;
        while let Some(Anchor::Address(at)) = self.anchor() {
            let below = rest.first().is_some_and(|frame| at < frame.sp);
            if !below || rest.iter().any(|frame| contains(frame, at)) {
                break;
            }
            self.take();
            dropped += 1;
        }
        dropped
    }
}

/// A zone is a few C frames; one that is larger is not looked at beyond this.
const MAX_ZONE: u64 = 1 << 20;

/// Whether one of the aligned words in `[start, end)` is `word`. What cannot be read holds nothing.
fn holds_word(stack: &impl Memory, start: Avma, end: Avma, word: Avma) -> bool {
    const BLOCK: u64 = 256;
    let word = word.0.to_le_bytes();
    let mut at = start.0.saturating_add(7) & !7;
    let end = end.0.min(at.saturating_add(MAX_ZONE));
    while at < end {
        let mut block = [0; BLOCK as usize];
        let length = BLOCK.min(end - at);
        let Some(bytes) = block.get_mut(..length as usize) else { return false };
        if stack.read(Avma(at), bytes).is_err() {
            return false;
        }
        if bytes.chunks_exact(8).any(|found| found == word) {
            return true;
        }
        at += length;
    }
    false
}

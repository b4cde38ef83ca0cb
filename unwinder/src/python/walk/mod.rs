//! Along the chain of frames, one file per way in which frames are kept.

mod heap;
mod stacked;

pub(crate) use heap::heap_frames;
pub(crate) use stacked::stacked_frames;

use super::layout::{CFrameLayout, Layout};
use super::snapshot::{LoopGuard, Piece, avma_at, field};
use super::{PythonCapture, PythonError};
use crate::{Avma, Memory};

/// The most frames of a thread that are read; deeper stacks lose their outer frames, marked as truncated.
pub(crate) const MAX_FRAMES: usize = 1 << 14;

/// A walk along one thread's frames.
pub(crate) struct Walk<'a, M> {
    pub layout: &'a Layout,
    pub tstate: Avma,
    pub memory: &'a M,
    pub out: &'a mut PythonCapture,
}

impl<M: Memory> Walk<'_, M> {
    /// The pointer in field `at` of the thread state.
    fn thread_pointer(&self, at: usize) -> Avma {
        let tstate = Piece::new(self.tstate, self.layout.thread.extent);
        self.out.scratch.snapshot.get(tstate).map_or(Avma(0), |bytes| avma_at(bytes, at))
    }

    /// The bytes at `address`, remembered for the thread's next capture.
    fn bytes(&mut self, address: Avma, length: usize, what: &'static str) -> Result<&[u8], PythonError> {
        if address.0 == 0 || !address.0.is_multiple_of(8) {
            return Err(PythonError::BadPointer { what, address });
        }
        let piece = Piece::new(address, length);
        self.out.scratch.used.push(piece);
        Ok(self.out.scratch.snapshot.bytes(piece, self.memory)?)
    }

    /// Collects the `CFrame`s from the innermost to the outermost; the one in the thread state, which ends the
    /// chain and stands for no C frame, is not counted.
    fn collect_cframes(&mut self, layout: &CFrameLayout) -> Result<(), PythonError> {
        let mut cframes = std::mem::take(&mut self.out.scratch.cframes);
        cframes.clear();
        let root = field(self.tstate, layout.root);
        let mut cframe = self.thread_pointer(layout.thread_field);
        let mut guard = LoopGuard::default();
        let outcome = loop {
            if cframe == root || cframes.len() == MAX_FRAMES {
                break Ok(());
            }
            cframes.push(cframe);
            let next = guard.visit(cframe, "CFrames").and_then(|()| {
                Ok(avma_at(self.bytes(cframe, CFrameLayout::SIZE, "a CFrame")?, layout.previous))
            });
            match next {
                Ok(next) => cframe = next,
                Err(error) => break Err(error),
            }
        };
        self.out.scratch.cframes = cframes;
        outcome
    }
}

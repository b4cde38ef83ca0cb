//! 3.6 to 3.10: `PyFrameObject`s on the heap, linked by `f_back`; one C frame of the loop runs one of them.

use super::{MAX_FRAMES, Walk};
use crate::Memory;
use crate::python::capture::Instruction;
use crate::python::layout::HeapFrames;
use crate::python::snapshot::{LoopGuard, avma_at, u32_at};
use crate::python::{Anchor, PythonError, PythonRun};

pub(crate) fn heap_frames<M: Memory>(walk: &mut Walk<'_, M>, layout: &HeapFrames) -> Result<(), PythonError> {
    let mut frame = walk.thread_pointer(layout.top);
    let mut guard = LoopGuard::default();
    while frame.0 != 0 {
        if walk.out.frames.len() == MAX_FRAMES {
            walk.out.truncated = true;
            break;
        }
        guard.visit(frame, "frames")?;
        let bytes = walk.bytes(frame, layout.lasti + 4, "a frame")?;
        let back = avma_at(bytes, layout.back);
        let code = avma_at(bytes, layout.code);
        let lasti = u32_at(bytes, layout.lasti) as i32;
        walk.out.push(frame, code, Instruction::Offset(lasti.saturating_mul(layout.lasti_bytes)))?;
        walk.out.runs.push(PythonRun { anchor: Anchor::Word(frame), frames: 1 });
        frame = back;
    }
    if let Some(cframes) = layout.cframes {
        walk.collect_cframes(&cframes)?;
        anchor_at_cframes(walk);
    }
    Ok(())
}

/// Gives each frame its `CFrame`, from the outermost on: the loop makes the `CFrame` first and then the frame,
/// so the innermost `CFrame` may be without a frame yet. When the numbers say otherwise the frames keep their own
/// addresses as anchors.
fn anchor_at_cframes<M: Memory>(walk: &mut Walk<'_, M>) {
    let (runs, cframes) = (&mut walk.out.runs, &walk.out.scratch.cframes);
    let spare = cframes.len().checked_sub(runs.len());
    if walk.out.truncated || !matches!(spare, Some(0 | 1)) {
        return;
    }
    for (run, &cframe) in runs.iter_mut().rev().zip(cframes.iter().rev()) {
        run.anchor = Anchor::Address(cframe);
    }
}

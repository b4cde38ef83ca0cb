//! 3.11 on: `_PyInterpreterFrame`s, linked by `previous`, in three kinds of places:
//!
//! ```text
//!   data stack of the thread    functions' frames, contiguous inside a chunk: one read gives them all
//!   generator objects           frames of generators and coroutines
//!   C stack                     shims (3.12 on): one below each run of frames, where C entered the loop
//! ```

use super::{MAX_FRAMES, Walk};
use crate::python::capture::Instruction;
use crate::python::layout::{CFrameLayout, Entries, StackedFrames, TopFrame};
use crate::python::snapshot::{LoopGuard, Piece, avma_at, field, u32_at, u64_at};
use crate::python::{Anchor, PythonError, PythonRun};
use crate::{Avma, Memory};

/// `FRAME_OWNED_BY_CSTACK` in 3.12 and 3.13, `FRAME_OWNED_BY_INTERPRETER` after: the shim. Anything from here on
/// is not a Python function's frame (`pycore_frame.h`, `enum _frameowner`).
const OWNED_BY_INTERPRETER: u8 = 3;
/// `_PyStackChunk`: previous, size, top (in slots of 8 bytes), then the data.
const CHUNK_HEADER: usize = 0x18;
/// A frame may be huge, and so its chunk; but not like this.
const MAX_CHUNK: u64 = 16 << 20;
const MAX_CHUNKS: usize = 1 << 12;
/// Bytes of the chunk that are read beyond those in use now, for when the next sample is deeper.
const CHUNK_SLACK: u64 = 2048;

pub(crate) fn stacked_frames<M: Memory>(
    walk: &mut Walk<'_, M>,
    layout: &StackedFrames,
) -> Result<(), PythonError> {
    let TopFrame::CFrame(cframes) = layout.top else {
        let TopFrame::Thread(at) = layout.top else { return Ok(()) };
        return from_frame(walk, layout, walk.thread_pointer(at));
    };
    let innermost = walk.thread_pointer(cframes.thread_field);
    if from_filled_cframe(walk, layout, &cframes, innermost).is_ok() {
        return Ok(());
    }
    // Compilers store the new CFrame's address first and then fill it in: meanwhile it holds what was on the stack
    // before, mostly a CFrame that this loop has made earlier, and with it the way to the one below.
    let bytes = walk.bytes(innermost, CFrameLayout::SIZE, "a CFrame")?;
    let second = avma_at(bytes, cframes.previous);
    // Whether the stack's memory held the outermost one for good reason cannot be told.
    if second <= innermost || second == field(walk.tstate, cframes.root) {
        return Err(PythonError::Torn);
    }
    walk.out.clear_frames();
    from_filled_cframe(walk, layout, &cframes, second)
}

/// Walks from a `CFrame`, which must fit the one below it: its run of frames was entered from the frame that is
/// current there (what `ceval.c` asserts when the run ends).
fn from_filled_cframe<M: Memory>(
    walk: &mut Walk<'_, M>,
    layout: &StackedFrames,
    cframes: &CFrameLayout,
    cframe: Avma,
) -> Result<(), PythonError> {
    from_cframe(walk, layout, cframes, cframe)?;
    if cframe == field(walk.tstate, cframes.root) {
        return Ok(());
    }
    let at = cframes.current_frame.unwrap_or_default();
    let bytes = walk.bytes(cframe, CFrameLayout::SIZE, "a CFrame")?;
    let (mut frame, below) = (avma_at(bytes, at), avma_at(bytes, cframes.previous));
    let entered_from = avma_at(walk.bytes(below, CFrameLayout::SIZE, "a CFrame")?, at);
    // The frames have just been walked: they are all there, and they have an end.
    while frame.0 != 0 {
        let bytes = frame_bytes(walk, layout, frame)?;
        let ends_run = match layout.entries {
            Entries::Flag(flag) => bytes.get(flag).is_some_and(|&flag| flag != 0),
            Entries::Shims => bytes.get(layout.owner).is_some_and(|&owner| owner >= OWNED_BY_INTERPRETER),
        };
        frame = avma_at(bytes, layout.previous);
        if ends_run {
            return if frame == entered_from { Ok(()) } else { Err(PythonError::Torn) };
        }
    }
    Err(PythonError::Torn)
}

/// Walks from the current frame of a `CFrame`.
fn from_cframe<M: Memory>(
    walk: &mut Walk<'_, M>,
    layout: &StackedFrames,
    cframes: &CFrameLayout,
    cframe: Avma,
) -> Result<(), PythonError> {
    let bytes = walk.bytes(cframe, CFrameLayout::SIZE, "a CFrame")?;
    let frame = avma_at(bytes, cframes.current_frame.unwrap_or_default());
    from_frame(walk, layout, frame)?;
    match layout.entries {
        Entries::Flag(_) => {
            walk.collect_cframes(cframes)?;
            anchor_at_cframes(walk)
        }
        Entries::Shims => Ok(()),
    }
}

/// 3.11: gives each run its `CFrame`, from the outermost on; the innermost `CFrame` may have no frames yet, or
/// none any more.
fn anchor_at_cframes<M: Memory>(walk: &mut Walk<'_, M>) -> Result<(), PythonError> {
    let (runs, cframes) = (&mut walk.out.runs, &walk.out.scratch.cframes);
    if walk.out.truncated {
        // The outer ends do not match; the inner ones do.
        for (run, &cframe) in runs.iter_mut().zip(cframes.iter()) {
            run.anchor = Anchor::Address(cframe);
        }
        return Ok(());
    }
    if !matches!(cframes.len().checked_sub(runs.len()), Some(0 | 1)) {
        return Err(PythonError::Torn);
    }
    for (run, &cframe) in runs.iter_mut().rev().zip(cframes.iter().rev()) {
        run.anchor = Anchor::Address(cframe);
    }
    Ok(())
}

fn from_frame<M: Memory>(
    walk: &mut Walk<'_, M>,
    layout: &StackedFrames,
    mut frame: Avma,
) -> Result<(), PythonError> {
    let sentinel = layout.base_frame.map(|at| walk.thread_pointer(at));
    let mut run = 0;
    let mut guard = LoopGuard::default();
    add_current_chunk(walk, layout)?;
    while frame.0 != 0 && Some(frame) != sentinel {
        if walk.out.frames.len() == MAX_FRAMES {
            walk.out.truncated = true;
            break;
        }
        guard.visit(frame, "frames")?;
        let bytes = frame_bytes(walk, layout, frame)?;
        let previous = avma_at(bytes, layout.previous);
        let owner = bytes.get(layout.owner).copied().unwrap_or_default();
        if owner >= OWNED_BY_INTERPRETER {
            walk.out.runs.push(PythonRun { anchor: Anchor::Address(frame), frames: run });
            run = 0;
        } else {
            // The low bits tag the reference from 3.14 on (`_PyStackRef`); before that they are 0.
            let code = Avma(u64_at(bytes, layout.code) & !7);
            let at = avma_at(bytes, layout.instruction);
            let tlbc_index = layout.tlbc_index.map_or(0, |at| u32_at(bytes, at));
            let entry =
                matches!(layout.entries, Entries::Flag(at) if bytes.get(at).is_some_and(|&flag| flag != 0));
            walk.out.push(frame, code, Instruction::Pointer { at, tlbc_index })?;
            run += 1;
            if entry {
                walk.out.runs.push(PythonRun { anchor: Anchor::Unknown, frames: run });
                run = 0;
            }
        }
        frame = previous;
    }
    match run {
        0 => Ok(()),
        _ if walk.out.truncated => {
            walk.out.runs.push(PythonRun { anchor: Anchor::Unknown, frames: run });
            Ok(())
        }
        // The outermost frame was entered from C like all others.
        _ => Err(PythonError::Torn),
    }
}

/// The bytes of the frame at `frame`: in a chunk of the data stack, in a generator or on the C stack.
fn frame_bytes<'w, M: Memory>(
    walk: &'w mut Walk<'_, M>,
    layout: &StackedFrames,
    frame: Avma,
) -> Result<&'w [u8], PythonError> {
    if !frame.0.is_multiple_of(8) {
        return Err(PythonError::BadPointer { what: "a frame", address: frame });
    }
    if !in_known_chunk(walk, frame) {
        find_older_chunk(walk, frame)?;
    }
    if in_known_chunk(walk, frame) {
        let piece = Piece::new(frame, layout.size);
        return Ok(walk.out.scratch.snapshot.bytes(piece, walk.memory)?);
    }
    walk.bytes(frame, layout.size, "a frame")
}

fn in_known_chunk<M: Memory>(walk: &Walk<'_, M>, frame: Avma) -> bool {
    walk.out.scratch.chunks.iter().any(|chunk| chunk.contains(&frame.0))
}

/// Takes note of the chunk that the thread's innermost functions are in, and reads what is in use of it.
fn add_current_chunk<M: Memory>(walk: &mut Walk<'_, M>, layout: &StackedFrames) -> Result<(), PythonError> {
    let start = walk.thread_pointer(layout.datastack_chunk);
    let top = walk.thread_pointer(layout.datastack_chunk + 8);
    if start.0 == 0 {
        return Ok(());
    }
    let header = walk.out.scratch.snapshot.bytes(Piece::new(start, CHUNK_HEADER), walk.memory)?;
    let size = u64_at(header, 8);
    add_chunk(walk, start, top.0, size)
}

/// Goes down the list of chunks until the one that holds `frame`; a thread has more than one only in deep
/// recursion. The list is read once in a capture.
fn find_older_chunk<M: Memory>(walk: &mut Walk<'_, M>, frame: Avma) -> Result<(), PythonError> {
    while let Some(newest) = walk.out.scratch.chunks.last() {
        let header = Piece::new(Avma(newest.start), CHUNK_HEADER);
        let older = avma_at(walk.out.scratch.snapshot.bytes(header, walk.memory)?, 0);
        if older.0 == 0 || walk.out.scratch.chunks.len() == MAX_CHUNKS {
            return Ok(());
        }
        let header = walk.out.scratch.snapshot.bytes(Piece::new(older, CHUNK_HEADER), walk.memory)?;
        let (size, top) = (u64_at(header, 8), u64_at(header, 16));
        let used = top.saturating_mul(8).saturating_add(CHUNK_HEADER as u64);
        add_chunk(walk, older, older.0.saturating_add(used), size)?;
        if in_known_chunk(walk, frame) {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads the used part of the chunk at `start`, and remembers it with some room to grow.
fn add_chunk<M: Memory>(walk: &mut Walk<'_, M>, start: Avma, top: u64, size: u64) -> Result<(), PythonError> {
    let bad = PythonError::BadPointer { what: "a data stack chunk", address: start };
    let used = top.checked_sub(start.0).filter(|used| *used <= size && size <= MAX_CHUNK).ok_or(bad)?;
    if used < CHUNK_HEADER as u64 || !start.0.is_multiple_of(8) {
        return Err(bad);
    }
    let room = size.min(used + CHUNK_SLACK) as usize;
    let scratch = &mut walk.out.scratch;
    if scratch.chunks.iter().any(|chunk| chunk.start == start.0) {
        return Err(PythonError::Loop("data stack chunks"));
    }
    scratch.snapshot.bytes(Piece::new(start, used as usize), walk.memory)?;
    scratch.used.push(Piece::new(start, room));
    scratch.chunks.push(start.0..top);
    Ok(())
}

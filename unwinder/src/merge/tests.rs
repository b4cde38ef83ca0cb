//! Stacks made by hand: what is rare on live ones.

use super::{EvalCode, MergeOutcome, merge, python_only, resume_at_anchor};
use crate::native::{CodePlace, FoundBy, NativeFrame, NativeStack, StackEnd};
use crate::python::{Anchor, PythonFrame, PythonRun, PythonStack};
use crate::{Avma, FrameAddress, ModuleId, PythonCodeId, RawFrame, SliceMemory, Svma, Truncation};

const LOOP: u64 = 0x5000;
const EMPTY: SliceMemory<'static> = SliceMemory { start: Avma(0), bytes: &[] };

/// A frame of the function at `function`, over `[sp, cfa)`.
fn native(function: u64, sp: u64, cfa: u64) -> NativeFrame {
    NativeFrame {
        address: FrameAddress::ReturnAddress(Avma(function + 0x11)),
        sp: Avma(sp),
        cfa: Avma(cfa),
        place: CodePlace::Module { module: ModuleId(1), svma: Svma(function + 0x10) },
        function_start: Some(Svma(function)),
        found_by: FoundBy::Cfi,
    }
}

fn stack(frames: &[NativeFrame], end: StackEnd) -> NativeStack {
    NativeStack { frames: frames.to_vec(), end }
}

/// Runs of one frame each, numbered from the innermost on.
fn python(anchors: &[Anchor]) -> PythonStack {
    PythonStack {
        frames: (1..=anchors.len() as u32)
            .map(|code| PythonFrame { code: PythonCodeId(code), line: 7 })
            .collect(),
        runs: anchors.iter().map(|&anchor| PythonRun { anchor, frames: 1 }).collect(),
        unknown: 0,
        truncated: false,
    }
}

fn at(address: u64) -> Anchor {
    Anchor::Address(Avma(address))
}

fn of_python(code: u32) -> RawFrame {
    RawFrame::Python { code: PythonCodeId(code), line: 7 }
}

fn of_native(function: u64) -> RawFrame {
    RawFrame::Native { module: ModuleId(1), lookup: Svma(function + 0x10) }
}

#[test]
fn python_frames_take_the_place_of_the_loop() {
    let native = stack(
        &[
            native(0x100, 0x8000, 0x8040),
            native(LOOP, 0x8040, 0x8100),
            native(0x200, 0x8100, 0x8140),
            native(LOOP, 0x8140, 0x8200),
            native(0x300, 0x8200, 0x8210),
        ],
        StackEnd::Root,
    );
    let mut out = Vec::new();
    let outcome =
        merge(&native, &EMPTY, &python(&[at(0x8070), at(0x8170)]), &mut EvalCode::default(), &mut out);
    assert_eq!(outcome, MergeOutcome { placed: 2, ..MergeOutcome::default() });
    assert_eq!(out, [of_native(0x100), of_python(1), of_native(0x200), of_python(2), of_native(0x300)]);
}

/// Another greenlet's frames still lie on the stack, and the running one's chain does not know them.
#[test]
fn frames_of_the_loop_without_an_anchor_say_nothing() {
    let frames = [native(LOOP, 0x8000, 0x8100), native(LOOP, 0x8100, 0x8200), native(LOOP, 0x8200, 0x8300)];
    let native = stack(&frames, StackEnd::Root);
    let mut out = Vec::new();
    let outcome =
        merge(&native, &EMPTY, &python(&[at(0x8070), at(0x8270)]), &mut EvalCode::default(), &mut out);
    assert_eq!(outcome, MergeOutcome { placed: 2, unanchored: 1, ..MergeOutcome::default() });
    assert_eq!(out, [of_python(1), of_python(2)]);
}

#[test]
fn a_run_whose_loop_has_returned_is_left_out() {
    let native = stack(&[native(LOOP, 0x8000, 0x8100)], StackEnd::Root);
    let mut out = Vec::new();
    let outcome =
        merge(&native, &EMPTY, &python(&[at(0x7ff0), at(0x8070)]), &mut EvalCode::default(), &mut out);
    assert_eq!(outcome, MergeOutcome { placed: 1, dropped: 1, ..MergeOutcome::default() });
    assert_eq!(out, [of_python(2)]);
}

/// A signal handler on a stack of its own, above the thread's.
#[test]
fn anchors_on_the_other_stack_are_found() {
    let frames =
        [native(LOOP, 0x9_0000, 0x9_0100), native(0x100, 0x9_0100, 0x9_0200), native(LOOP, 0x8000, 0x8100)];
    let native = stack(&frames, StackEnd::Root);
    let mut out = Vec::new();
    let python = python(&[at(0x9_0070), at(0x8070)]);
    let outcome = merge(&native, &EMPTY, &python, &mut EvalCode::default(), &mut out);
    assert_eq!(outcome, MergeOutcome { placed: 2, ..MergeOutcome::default() });
    assert_eq!(out, [of_python(1), of_native(0x100), of_python(2)]);
}

#[test]
fn beyond_a_truncation_come_the_python_frames_and_then_the_reason() {
    let end = StackEnd::Truncated(Truncation::OutOfBytes);
    let frames = [native(LOOP, 0x8000, 0x8100), native(0x100, 0x8100, 0x8100)];
    let mut out = Vec::new();
    let python = python(&[at(0x8070), at(0x8170), Anchor::Unknown]);
    let outcome = merge(&stack(&frames, end), &EMPTY, &python, &mut EvalCode::default(), &mut out);
    assert_eq!(outcome, MergeOutcome { placed: 1, unplaced: 2, ..MergeOutcome::default() });
    let reason = RawFrame::Truncated(Truncation::OutOfBytes);
    assert_eq!(out, [of_python(1), of_native(0x100), of_python(2), of_python(3), reason]);
}

/// A `PyFrameObject`'s address is in the words from the inner loop frame's end to its own loop frame's end.
#[test]
fn words_on_the_stack_tell_the_frames_of_old_pythons() {
    let mut bytes = vec![0; 0x300];
    for (at, word) in [(0x20, 0xaaa0_u64), (0x140, 0xaaa0), (0x150, 0xbbb0)] {
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }
    let memory = SliceMemory { start: Avma(0x8000), bytes: &bytes };
    let frames = [native(LOOP, 0x8000, 0x8100), native(0x100, 0x8100, 0x8180), native(LOOP, 0x8180, 0x8200)];
    let native = stack(&frames, StackEnd::Root);
    let anchors = [Anchor::Word(Avma(0xaaa0)), Anchor::Word(Avma(0xbbb0))];
    let mut eval = EvalCode::default();
    // Any frame that was once anchored makes the loop known, as the module's symbol would.
    eval.learn(&native.frames[0], Avma(0x8070));
    let mut out = Vec::new();
    let outcome = merge(&native, &memory, &python(&anchors), &mut eval, &mut out);
    assert_eq!(outcome, MergeOutcome { placed: 2, ..MergeOutcome::default() });
    assert_eq!(out, [of_python(1), of_native(0x100), of_python(2)]);
}

#[test]
fn a_truncated_walk_goes_on_at_the_next_frame_of_the_loop() {
    let mut eval = EvalCode::default();
    eval.learn(&native(LOOP, 0x8000, 0x8100), Avma(0x8070));
    let mut bytes = vec![0; 0x400];
    bytes[0x1f8..0x200].copy_from_slice(&0x1234_u64.to_le_bytes());
    let memory = SliceMemory { start: Avma(0x8000), bytes: &bytes };
    let mut native = stack(&[native(0x100, 0x8000, 0x8000)], StackEnd::Truncated(Truncation::NoModule));
    let python = python(&[at(0x8170)]);
    let (start, registers) = resume_at_anchor(&mut native, &python, &eval, &memory).expect("an anchor");
    assert_eq!(start, FrameAddress::ReturnAddress(Avma(0x1234)));
    assert_eq!((registers.ip, registers.sp), (Avma(0x1234), Avma(0x8200)));
    let mut out = Vec::new();
    let outcome = merge(&native, &memory, &python, &mut eval, &mut out);
    assert_eq!((outcome.placed, outcome.unplaced), (1, 0));
    assert_eq!(out[..3], [of_native(0x100), RawFrame::Gap(Truncation::NoModule), of_python(1)]);
    // There is nothing to resume in a stack that reached its root, or beyond the last anchor.
    native.end = StackEnd::Root;
    assert!(resume_at_anchor(&mut native, &python, &eval, &memory).is_none());
}

#[test]
fn without_native_frames_the_python_frames_are_the_stack() {
    let mut python = python(&[at(0x8070), at(0x8170)]);
    let mut out = Vec::new();
    python_only(&python, &mut out);
    assert_eq!(out, [of_python(1), of_python(2)]);
    python.truncated = true;
    python_only(&python, &mut out);
    assert_eq!(out, [of_python(1), of_python(2), RawFrame::Truncated(Truncation::TooDeep)]);
}

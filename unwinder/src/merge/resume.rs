//! Going on beyond native code that cannot be unwound, from the next frame of the interpreter's loop.

use super::eval_code::EvalCode;
use crate::native::{CodePlace, FoundBy, NativeFrame, NativeStack, StackEnd};
use crate::python::{Anchor, PythonStack};
use crate::{Avma, FrameAddress, Memory, Registers};

/// Where to go on when `native` was truncated (in a JIT's code, or in C code without call frame information) below
/// an anchor: the loop's frame that holds the anchor has its CFA at a distance that is the same in the whole build, and
/// its return address right below that.
///
/// Adds the loop's frame to `native`, marked as [`FoundBy::Anchor`], so that [`merge`](super::merge()) finds the anchor
/// in it and shows the gap, and gives what to call
/// [`Unwinder::unwind`](crate::native::Unwinder::unwind) with; append what that finds. The callee-saved registers are
/// not known there. `None` when there is no such anchor, or nothing has been learned, or what has been learned does not
/// hold here.
pub fn resume_at_anchor(
    native: &mut NativeStack,
    python: &PythonStack,
    eval: &EvalCode,
    stack: &impl Memory,
) -> Option<(FrameAddress, Registers)> {
    let StackEnd::Truncated(why) = native.end else { return None };
    let (module, learned) = eval.only_loop()?;
    let reached = native.frames.last()?.sp;
    let anchor = python.runs.iter().find_map(|run| match run.anchor {
        Anchor::Address(at) if at >= reached => Some(at),
        _ => None,
    })?;
    let cfa = anchor.offset(learned.cfa_from_anchor);
    if cfa <= anchor {
        return None;
    }
    let return_address = Avma(stack.read_u64(cfa.offset(-8)).ok()?);
    native.frames.push(NativeFrame {
        address: FrameAddress::ReturnAddress(Avma(0)),
        sp: anchor,
        cfa,
        place: CodePlace::Module { module, svma: learned.function_start },
        function_start: Some(learned.function_start),
        found_by: FoundBy::Anchor(why),
    });
    Some((FrameAddress::ReturnAddress(return_address), Registers::new(return_address, cfa)))
}

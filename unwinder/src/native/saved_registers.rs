//! Callee-saved registers other than rbp, found when a rule asks for one.
//!
//! Hardly a rule does (0.6 % of libtorch's, none of libpython's), so unwinding does not restore them frame by
//! frame. A register's value in a frame is what the nearest frame below saved of it, or, if none did, what the
//! thread's registers held.

use super::{AddressSpace, NativeFrame};
use crate::arch::{FrameRule, Saved, signal_frame};
use crate::cfi::{GeneralRule, RegisterSource};
use crate::{Memory, Registers};

/// The value of `register` in the caller of the last of `frames`.
pub(super) fn recover<M: Memory>(
    register: u16,
    frames: &[NativeFrame],
    start: &Registers,
    space: &AddressSpace,
    memory: &M,
) -> Option<u64> {
    for frame in frames.iter().rev() {
        let (module, svma) = space.find(frame.address.for_lookup())?;
        let found = module?.cfi().lookup(svma);
        let saved = match found.rule {
            FrameRule::Signal => {
                let offset = signal_frame::offset_of(register)?;
                return memory.read_u64(frame.sp.offset(offset.into())).ok();
            }
            FrameRule::General { index } => saved_by(module?.cfi().general(index)?, register),
            FrameRule::Broken | FrameRule::Uncovered | FrameRule::End => Saved::Lost,
            _ => found.saved.get(register),
        };
        match saved {
            Saved::Unchanged => {}
            Saved::AtCfa(offset) => return memory.read_u64(frame.cfa.offset(offset.into())).ok(),
            Saved::Lost => return None,
        }
    }
    start.get(register)
}

fn saved_by(rule: &GeneralRule, register: u16) -> Saved {
    match rule.register(register) {
        None if Registers::is_callee_saved(register) => Saved::Unchanged,
        Some(RegisterSource::Unchanged) => Saved::Unchanged,
        Some(RegisterSource::AtCfa(offset)) => i16::try_from(*offset).map_or(Saved::Lost, Saved::AtCfa),
        _ => Saved::Lost,
    }
}

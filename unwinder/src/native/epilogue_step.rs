//! The step out of a function that no call frame information covers, by following its code to a `ret`
//! ([`crate::arch::return_rules`]).
//!
//! Only from an instruction pointer: a return address may follow a call that never returns, and then the code there is
//! another function's.

use super::unwinder::{CallSites, Position, Step, Walk};
use super::{FoundBy, NativeFrame, StackEnd, saved_registers};
use crate::arch::{Base, CallersBp, Place, ReturnRule};
use crate::{Avma, FrameAddress, Memory, Registers, Truncation};

/// Largest frame believed. What lies further away is another stack.
const LARGEST_FRAME: u64 = 1 << 20;

/// The frames below an uncovered one, and what the registers held at the start.
struct Known<'a, M> {
    walk: &'a Walk<'a, M>,
    at: &'a Position,
    below: &'a [NativeFrame],
}

/// The caller of the uncovered code at `at`.
pub(super) fn epilogue_step<M: Memory>(
    walk: &Walk<'_, M>,
    at: &Position,
    below: &[NativeFrame],
    call_sites: &mut CallSites,
) -> Result<Step, StackEnd> {
    let FrameAddress::InstructionPointer(ip) = at.address else {
        return Err(Truncation::NoUnwindInfo.into());
    };
    let Some((Some(module), svma)) = walk.space.find(ip) else { return Err(Truncation::NoModule.into()) };
    let known = Known { walk, at, below };
    for rule in module.return_rules(svma).iter() {
        // A candidate that cannot be judged yet is not passed over: the next may be a worse one.
        if let Some(step) = known.step_by(rule)?
            && call_sites.is_return_address(walk.space, step.caller.address.avma())
        {
            return Ok(step);
        }
    }
    Err(Truncation::NoUnwindInfo.into())
}

impl<M: Memory> Known<'_, M> {
    /// Where a rule leads; `None`: not up this stack.
    fn step_by(&self, rule: &ReturnRule) -> Result<Option<Step>, StackEnd> {
        let slot = self.place(rule.return_address)?;
        let size = slot.0.wrapping_sub(self.at.sp.0);
        if size >= LARGEST_FRAME || !slot.0.is_multiple_of(8) {
            return Ok(None);
        }
        let address = FrameAddress::ReturnAddress(Avma(self.walk.memory.read_u64(slot)?));
        let bp = match rule.bp {
            CallersBp::Is(place) => self.place(place).ok().map(|address| address.0),
            CallersBp::At(place) => self.place(place).ok().and_then(|at| self.walk.memory.read_u64(at).ok()),
            CallersBp::Unknown => None,
        };
        let cfa = slot.offset(8);
        Ok(Some(Step { cfa, caller: Position { address, sp: cfa, bp, found_by: FoundBy::Epilogue } }))
    }

    fn place(&self, place: Place) -> Result<Avma, StackEnd> {
        let base = match place.base {
            Base::Register(register) => self.register(register)?,
            Base::Word { register, offset } => {
                let at = Avma(self.register(register)?).offset(offset.into());
                self.walk.memory.read_u64(at)?
            }
        };
        Ok(Avma(base).offset(place.offset.into()))
    }

    fn register(&self, register: u16) -> Result<u64, Truncation> {
        let value = match register {
            Registers::RSP => Some(self.at.sp.0),
            Registers::RBP => self.at.bp,
            _ => {
                let Walk { registers, space, memory, .. } = self.walk;
                saved_registers::recover(register, self.below, registers, space, *memory)
            }
        };
        value.ok_or(Truncation::UnknownRegister)
    }
}

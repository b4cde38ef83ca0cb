//! The walk from a thread's registers to its outermost frame.

use std::num::NonZeroI16;

use rustc_hash::FxHashMap;

use super::epilogue_step::epilogue_step;
use super::pc_cache::{PcCache, Resolved};
use super::saved_registers;
use super::{AddressSpace, CodePlace, FoundBy, NativeFrame, NativeStack, StackEnd};
use crate::arch::{self, FrameRule, SpecialCode, signal_frame};
use crate::cfi::{GeneralFrame, StepError};
use crate::{Avma, FrameAddress, Memory, MemoryError, Registers, Svma, Truncation};

/// Most frames of a stack that are believed.
const MAX_FRAMES: usize = 1 << 16;
/// Most return addresses remembered by [`CallSites`].
const MAX_CALL_SITES: usize = 1 << 16;

/// Unwinds the threads of one process.
#[derive(Clone, Debug)]
pub struct Unwinder {
    cache: PcCache,
    call_sites: CallSites,
}

/// What is known of the frame that is being looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) address: FrameAddress,
    pub(super) sp: Avma,
    /// rbp, if it is known.
    pub(super) bp: Option<u64>,
    pub(super) found_by: FoundBy,
}

/// A step: where the frame ends and what its caller is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) cfa: Avma,
    pub(super) caller: Position,
}

/// Everything about a walk that stays the same.
pub(super) struct Walk<'a, M> {
    pub(super) space: &'a AddressSpace,
    pub(super) registers: &'a Registers,
    pub(super) memory: &'a M,
}

impl From<Truncation> for StackEnd {
    fn from(reason: Truncation) -> Self {
        StackEnd::Truncated(reason)
    }
}

impl From<MemoryError> for StackEnd {
    fn from(_: MemoryError) -> Self {
        StackEnd::Truncated(Truncation::OutOfBytes)
    }
}

impl Default for Unwinder {
    fn default() -> Self {
        Self::new()
    }
}

impl Unwinder {
    /// An unwinder that knows nothing yet.
    pub fn new() -> Self {
        Unwinder { cache: PcCache::new(), call_sites: CallSites::default() }
    }

    /// Finds the frames of a thread, from `start` (usually `InstructionPointer(registers.ip)`; a return address
    /// to go on above code that was walked otherwise) outwards. Nothing is allocated once `out` has grown.
    ///
    /// A register that `registers` does not know stays unknown. When a rule needs rbp and it is unknown, it is
    /// computed from sp where the function's code or [`learn_frame_depth`](Self::learn_frame_depth) tells their
    /// distance, and the result is believed only if it leads to an address that a call could return to.
    /// Likewise the leaf's caller where no call frame information covers the leaf: its code is followed to a return.
    pub fn unwind<M: Memory>(
        &mut self,
        space: &AddressSpace,
        start: FrameAddress,
        registers: &Registers,
        memory: &M,
        out: &mut NativeStack,
    ) {
        self.enter(space);
        let frames = &mut out.frames;
        frames.clear();
        let walk = Walk { space, registers, memory };
        let mut at = Position::start(start, registers);
        out.end = loop {
            let resolved = self.resolve(space, at.address);
            if let Some((cfa, return_address, bp)) = plain_step(memory, &at, &resolved)
                && frames.len() < MAX_FRAMES
            {
                frames.push(at.frame(&resolved, cfa));
                at.address = FrameAddress::ReturnAddress(return_address);
                at.sp = cfa;
                at.bp = bp;
                at.found_by = FoundBy::Cfi;
                continue;
            }
            match self.step(&walk, &{ at }, &{ resolved }, frames) {
                Ok(step) if frames.len() < MAX_FRAMES => {
                    frames.push(at.frame(&resolved, step.cfa));
                    at = step.caller;
                }
                step => {
                    frames.push(at.frame(&resolved, at.sp));
                    break step.err().unwrap_or(Truncation::TooDeep.into());
                }
            }
        };
    }

    /// Learns from a stopped thread, whose registers are all known, how far rbp lies above sp in the first frame
    /// that needs rbp: so that the next thread that blocks there can be unwound without being stopped. Returns
    /// whether there was something to learn. `scratch` is overwritten.
    pub fn learn_frame_depth<M: Memory>(
        &mut self,
        space: &AddressSpace,
        registers: &Registers,
        memory: &M,
        scratch: &mut NativeStack,
    ) -> bool {
        let mut without_bp = *registers;
        without_bp.set(Registers::RBP, None);
        let start = FrameAddress::InstructionPointer(registers.ip);
        self.unwind(space, start, &without_bp, memory, scratch);
        // Where rbp is asked for and unknown, no frame below has saved it: it is still the thread's own.
        let (StackEnd::Truncated(Truncation::UnknownRegister), Some(bp), Some(last)) =
            (scratch.end, registers.get(Registers::RBP), scratch.frames.last())
        else {
            return false;
        };
        let needs_bp = self.resolve(space, last.address).rule.needs_bp();
        let (true, Some((Some(module), svma))) = (needs_bp, space.find(last.address.for_lookup())) else {
            return false;
        };
        module.learn_frame_depth(svma, bp.wrapping_sub(last.sp.0) as i64);
        true
    }

    fn enter(&mut self, space: &AddressSpace) {
        self.cache.enter(space.generation());
        self.call_sites.enter(space.generation());
    }

    #[inline]
    fn resolve(&mut self, space: &AddressSpace, address: FrameAddress) -> Resolved {
        let lookup = address.for_lookup();
        if let Some(resolved) = self.cache.get(lookup) {
            return resolved;
        }
        let resolved = resolve_in(space, address);
        self.cache.put(lookup, &resolved);
        resolved
    }

    /// Any step. Rare next to [`plain_step`], which is tried first.
    #[cold]
    #[inline(never)]
    fn step<M: Memory>(
        &mut self,
        walk: &Walk<'_, M>,
        at: &Position,
        resolved: &Resolved,
        below: &[NativeFrame],
    ) -> Result<Step, StackEnd> {
        let saved = |cfa: Avma, saved_bp: Option<NonZeroI16>| {
            let Some(offset) = saved_bp else { return Ok(at.bp) };
            let slot = cfa.offset(offset.get().into());
            match walk.memory.read_u64(slot) {
                // In an epilogue the slot has been popped, and is where a copy may not reach: see `Registers::stack_copy_start`.
                Err(_) if slot < at.sp => Ok(None),
                read => read.map(Some),
            }
        };
        match resolved.rule {
            FrameRule::Sp { saved_bp, cfa_offset } => {
                let cfa = at.sp.offset(cfa_offset.into());
                at.returns(walk.memory, cfa, saved(cfa, saved_bp)?)
            }
            FrameRule::Bp { saved_bp, cfa_offset } => {
                let Some(bp) = at.bp else { return self.step_with_computed_bp(walk, at, resolved, below) };
                let cfa = Avma(bp).offset(cfa_offset.into());
                at.returns(walk.memory, cfa, saved(cfa, saved_bp)?)
            }
            FrameRule::BpDeref { saved_bp, cfa_slot } => {
                let Some(bp) = at.bp else { return self.step_with_computed_bp(walk, at, resolved, below) };
                let cfa = Avma(walk.memory.read_u64(Avma(bp).offset(cfa_slot.into()))?);
                let bp = walk.memory.read_u64(Avma(bp).offset(saved_bp.into()))?;
                at.returns(walk.memory, cfa, Some(bp))
            }
            FrameRule::Plt { pushed_at } => {
                let pushed = if at.address.avma().0 & 15 >= pushed_at.into() { 8 } else { 0 };
                at.returns(walk.memory, at.sp.offset(8 + pushed), at.bp)
            }
            FrameRule::Signal => signal_step(walk, at),
            FrameRule::End => Err(StackEnd::Root),
            FrameRule::General { index } => match general_step(walk, at, index, below) {
                Err(StepError::UnknownRegister(Registers::RBP)) if at.bp.is_none() => {
                    self.step_with_computed_bp(walk, at, resolved, below)
                }
                Err(StepError::UnknownRegister(_)) => Err(Truncation::UnknownRegister.into()),
                Err(StepError::Truncated(reason)) => Err(reason.into()),
                Ok(step) => end_at_null(step),
            },
            FrameRule::Broken => Err(Truncation::BadUnwindInfo.into()),
            FrameRule::Uncovered => match resolved.place {
                CodePlace::Anonymous => frame_pointer_step(walk, at),
                CodePlace::Module { .. } => epilogue_step(walk, at, below, &mut self.call_sites),
                CodePlace::Unmapped => Err(Truncation::NoModule.into()),
            },
        }
    }

    /// A step whose rule needs an rbp that is not known.
    #[cold]
    #[inline(never)]
    fn step_with_computed_bp<M: Memory>(
        &mut self,
        walk: &Walk<'_, M>,
        at: &Position,
        resolved: &Resolved,
        below: &[NativeFrame],
    ) -> Result<Step, StackEnd> {
        let bp = computed_bp(walk.space, at, resolved).ok_or(Truncation::UnknownRegister)?;
        let step = match self.step(walk, &Position { bp: Some(bp), ..*at }, resolved, below) {
            Ok(step) => step,
            Err(StackEnd::Truncated(Truncation::OutOfBytes)) => return Err(Truncation::OutOfBytes.into()),
            // A root found by a computed rbp is a zero that happened to be there.
            Err(_) => return Err(Truncation::UnknownRegister.into()),
        };
        // A distance that does not hold here would make any word the return address. The right one follows a call,
        // or is where a signal handler returns to.
        if !self.call_sites.is_return_address(walk.space, step.caller.address.avma()) {
            return Err(Truncation::UnknownRegister.into());
        }
        Ok(step)
    }
}

impl Position {
    fn start(address: FrameAddress, registers: &Registers) -> Self {
        Position { address, sp: registers.sp, bp: registers.get(Registers::RBP), found_by: FoundBy::Start }
    }

    #[inline]
    fn frame(self, resolved: &Resolved, cfa: Avma) -> NativeFrame {
        NativeFrame {
            address: self.address,
            sp: self.sp,
            cfa,
            place: resolved.place,
            function_start: resolved.function_start,
            found_by: self.found_by,
        }
    }

    /// The caller, when the return address is right below the CFA.
    fn returns<M: Memory>(self, memory: &M, cfa: Avma, bp: Option<u64>) -> Result<Step, StackEnd> {
        if cfa <= self.sp {
            return Err(Truncation::DidNotAdvance.into());
        }
        let address = FrameAddress::ReturnAddress(Avma(memory.read_u64(cfa.offset(-8))?));
        end_at_null(Step { cfa, caller: Position { address, sp: cfa, bp, found_by: FoundBy::Cfi } })
    }
}

/// CFA, return address and rbp of the caller, by one of the two rules that nearly all code has; `None` if the rule
/// is another one, or if anything is out of the ordinary. Kept apart from [`Unwinder::step`], and its results in
/// registers, because all of the time is spent here.
#[inline(always)]
fn plain_step<M: Memory>(
    memory: &M,
    at: &Position,
    resolved: &Resolved,
) -> Option<(Avma, Avma, Option<u64>)> {
    let (cfa, saved_bp) = match (resolved.rule, at.bp) {
        (FrameRule::Sp { saved_bp, cfa_offset }, _) => (at.sp.offset(cfa_offset.into()), saved_bp),
        (FrameRule::Bp { saved_bp, cfa_offset }, Some(bp)) => (Avma(bp).offset(cfa_offset.into()), saved_bp),
        _ => return None,
    };
    let bp = match saved_bp {
        Some(offset) => Some(memory.read_u64(cfa.offset(offset.get().into())).ok()?),
        None => at.bp,
    };
    let return_address = memory.read_u64(cfa.offset(-8)).ok()?;
    (cfa > at.sp && return_address != 0).then_some((cfa, Avma(return_address), bp))
}

/// Nobody is called from address zero: hand-written thread starts put it where a caller would be (psABI 3.4.1
/// marks the deepest frame so, by rbp).
fn end_at_null(step: Step) -> Result<Step, StackEnd> {
    match step.caller.address.avma() {
        Avma(0) => Err(StackEnd::Root),
        _ => Ok(step),
    }
}

/// A step by a rule that only gimli can evaluate.
#[cold]
#[inline(never)]
fn general_step<M: Memory>(
    walk: &Walk<'_, M>,
    at: &Position,
    index: u32,
    below: &[NativeFrame],
) -> Result<Step, StepError> {
    let module = walk.space.find(at.address.for_lookup()).and_then(|(module, _)| module);
    let rule = module.and_then(|module| module.cfi().general(index));
    let rule = rule.ok_or(StepError::Truncated(Truncation::BadUnwindInfo))?;
    let register = |number: u16| match number {
        Registers::RSP => Some(at.sp.0),
        Registers::RETURN_ADDRESS => Some(at.address.avma().0),
        Registers::RBP => at.bp,
        _ => saved_registers::recover(number, below, walk.registers, walk.space, walk.memory),
    };
    let frame = GeneralFrame { memory: walk.memory, register };
    let cfa = frame.cfa(rule)?;
    let callers = |register| frame.callers(rule, register, cfa);
    let known = |register| callers(register)?.ok_or(StepError::UnknownRegister(register));
    let (ip, sp, bp) =
        (Avma(known(Registers::RETURN_ADDRESS)?), Avma(known(Registers::RSP)?), callers(Registers::RBP)?);
    let address = match rule.signal_frame {
        true => FrameAddress::InstructionPointer(ip),
        false if sp > at.sp => FrameAddress::ReturnAddress(ip),
        // Whoever keeps its return address in a register (glibc's vfork) may have no stack of its own. It calls nobody.
        false if sp == at.sp && matches!(at.address, FrameAddress::InstructionPointer(_)) => {
            FrameAddress::ReturnAddress(ip)
        }
        false => return Err(StepError::Truncated(Truncation::DidNotAdvance)),
    };
    Ok(Step { cfa, caller: Position { address, sp, bp, found_by: FoundBy::Cfi } })
}

/// The interrupted code, which may well be on another stack (`sigaltstack`), above or below: so nothing is asked of
/// its sp. That a walk ends all the same is for [`MAX_FRAMES`] to see to.
#[cold]
#[inline(never)]
fn signal_step<M: Memory>(walk: &Walk<'_, M>, at: &Position) -> Result<Step, StackEnd> {
    let word = |register| {
        let offset = signal_frame::offset_of(register).ok_or(Truncation::BadUnwindInfo)?;
        Ok::<_, StackEnd>(walk.memory.read_u64(at.sp.offset(offset.into()))?)
    };
    let caller = Position {
        address: FrameAddress::InstructionPointer(Avma(word(Registers::RETURN_ADDRESS)?)),
        sp: Avma(word(Registers::RSP)?),
        bp: Some(word(Registers::RBP)?),
        found_by: FoundBy::Cfi,
    };
    Ok(Step { cfa: Avma(at.sp.0.wrapping_add(signal_frame::SIZE)), caller })
}

/// Code of no file keeps a frame pointer, or cannot be walked.
#[cold]
#[inline(never)]
fn frame_pointer_step<M: Memory>(walk: &Walk<'_, M>, at: &Position) -> Result<Step, StackEnd> {
    let bp = Avma(at.bp.ok_or(Truncation::UnknownRegister)?);
    if bp < at.sp || !bp.0.is_multiple_of(8) {
        return Err(Truncation::DidNotAdvance.into());
    }
    let callers_bp = walk.memory.read_u64(bp)?;
    let address = Avma(walk.memory.read_u64(bp.offset(8))?);
    if address == Avma(0) {
        return Err(Truncation::NoModule.into());
    }
    let cfa = bp.offset(16);
    if cfa <= at.sp {
        return Err(Truncation::DidNotAdvance.into());
    }
    let caller = Position {
        address: FrameAddress::ReturnAddress(address),
        sp: cfa,
        bp: Some(callers_bp),
        found_by: FoundBy::FramePointer,
    };
    Ok(Step { cfa, caller })
}

fn computed_bp(space: &AddressSpace, at: &Position, resolved: &Resolved) -> Option<u64> {
    let (module, svma) = space.find(at.address.for_lookup())?;
    let depth = module?.frame_depth(resolved.function_start?, svma)?;
    Some(at.sp.offset(depth).0)
}

/// What the tables say about an address that is not in the cache.
#[cold]
#[inline(never)]
fn resolve_in(space: &AddressSpace, address: FrameAddress) -> Resolved {
    let unknown = |place| Resolved { rule: FrameRule::Uncovered, place, function_start: None };
    let (module, svma) = match space.find(address.for_lookup()) {
        None => return unknown(CodePlace::Unmapped),
        Some((None, _)) => return unknown(CodePlace::Anonymous),
        Some((Some(module), svma)) => (module, svma),
    };
    let found = module.cfi().lookup(svma);
    let exact = match address {
        FrameAddress::InstructionPointer(_) => svma,
        FrameAddress::ReturnAddress(_) => Svma(svma.0.wrapping_add(1)),
    };
    // Nothing calls the code before a function's first instruction: who returns there was made to.
    let entered_by_hand = exact != svma && module.cfi().is_function_start(exact);
    let special = match found.rule {
        FrameRule::Uncovered => special_code_at(module, exact),
        _ if entered_by_hand => special_code_at(module, exact),
        _ => None,
    };
    let rule = match special {
        Some(SpecialCode::SignalTrampoline) => FrameRule::Signal,
        Some(SpecialCode::ContextRoot) => FrameRule::End,
        None if found.rule == FrameRule::Uncovered && module.is_in_entry(svma) => FrameRule::End,
        None => found.rule,
    };
    let place = CodePlace::Module { module: module.id(), svma };
    Resolved { rule, place, function_start: found.function_start }
}

fn special_code_at(module: &crate::module::Module, svma: Svma) -> Option<SpecialCode> {
    let mut code = [0; arch::LONGEST_SPECIAL_CODE];
    let length = module.read_code(svma, &mut code);
    arch::special_code(code.get(..length)?)
}

/// Which addresses follow a call instruction, or are signal trampolines: read from the modules' code once each.
#[derive(Clone, Debug, Default)]
pub(super) struct CallSites {
    generation: u64,
    known: FxHashMap<Avma, bool>,
}

impl CallSites {
    fn enter(&mut self, generation: u64) {
        if self.generation != generation || self.known.len() > MAX_CALL_SITES {
            self.known.clear();
            self.generation = generation;
        }
    }

    pub(super) fn is_return_address(&mut self, space: &AddressSpace, address: Avma) -> bool {
        *self.known.entry(address).or_insert_with(|| {
            let Some((Some(module), svma)) = space.find(address) else { return false };
            let mut before = [0; arch::LONGEST_CALL];
            let Some(from) = svma.0.checked_sub(before.len() as u64) else { return false };
            module.read_code(Svma(from), &mut before) == before.len() && arch::follows_call(&before)
                || special_code_at(module, svma) == Some(SpecialCode::SignalTrampoline)
        })
    }
}

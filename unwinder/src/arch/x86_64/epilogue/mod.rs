//! Where a function without call frame information will return to, found by following its code to a `ret`.
//!
//! At the instruction pointer, rsp and the registers that a function must preserve stand for themselves, and all others
//! are unknown: what they hold may well be another stack. Instructions that move registers, constants and words of the
//! stack about are followed; whatever else writes a register makes it unknown. The `ret` that is reached says at which
//! word the return address lies, by the registers as they are now:
//!
//! ```text
//!   stopped here ──►  vfmadd231pd %ymm0,%ymm1,%ymm4        rsp, rbx, ... = themselves
//!                     ...  jne                             both ways, breadth first
//!                     mov %rbx,%rsp                        rsp = rbx
//!                     mov 0x8(%rsp),%rbp                   rbp = word at rbx+8
//!                     add $0x60,%rsp                       rsp = rbx+0x60
//!                     ret                                  return address = word at rbx+0x60
//! ```
//!
//! Neither a symbol nor the function's start is needed. Conditions are not understood, so a path may be one that the
//! program cannot take: what comes out are candidates, nearest first, and whoever uses one checks that the word is an
//! address that a call returns to.
//!
//! Assumed of the code: that what it saved on its stack it does not overwrite through pointers of other origin.

mod state;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpKind};
use rustc_hash::FxHashMap;

use crate::Svma;
use state::{Goes, Kept, State};

/// Where something lies, by the registers at the instruction that the search began with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) base: Base,
    pub(crate) offset: i32,
}

/// What a [`Place`] counts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// A register, by DWARF number: rsp, or one that a function must preserve.
    Register(u16),
    /// The word at a register plus an offset: realigned stacks keep the old rsp there.
    Word { register: u16, offset: i32 },
}

/// How to find the caller's rbp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallersBp {
    /// It is this address.
    Is(Place),
    /// It is the word at this address.
    At(Place),
    /// The code does not tell.
    Unknown,
}

/// One way on which the code returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReturnRule {
    /// The word that `ret` takes; the CFA is right above it.
    pub(crate) return_address: Place,
    pub(crate) bp: CallersBp,
}

/// Instructions followed at most, all paths together; OpenBLAS' largest kernels have some ten thousand.
const MAX_INSTRUCTIONS: usize = 1 << 16;
/// Instructions followed after the first candidate, for others.
const MAX_INSTRUCTIONS_AFTER_FIRST: usize = 1 << 12;
/// Candidates searched.
const MAX_CANDIDATES: usize = 4;
/// How often the same instruction is gone through with other values in the registers that matter.
const MAX_STATES_OF_PLACE: usize = 4;

/// Where the code around an address may return to, nearest first. `code` begins at `base`; no path leaves it.
pub(crate) fn return_rules(code: &[u8], base: Svma, from: Svma) -> Vec<ReturnRule> {
    let mut search = Search {
        code,
        base: base.0,
        paths: VecDeque::from([(from.0, State::at_start())]),
        seen: FxHashMap::default(),
        found: Vec::new(),
        instructions_left: MAX_INSTRUCTIONS,
        info: InstructionInfoFactory::new(),
    };
    while let Some((ip, state)) = search.paths.pop_front() {
        search.follow(ip, state);
    }
    search.found
}

struct Search<'a> {
    code: &'a [u8],
    base: u64,
    /// Ends of paths, to be followed in this order.
    paths: VecDeque<(u64, State)>,
    /// What the kept registers held at the places that branches lead to.
    seen: FxHashMap<u64, Vec<Kept>>,
    found: Vec<ReturnRule>,
    instructions_left: usize,
    info: InstructionInfoFactory,
}

impl Search<'_> {
    /// Follows a path to where it ends or branches.
    fn follow(&mut self, mut ip: u64, mut state: State) {
        loop {
            let Some(instruction) = self.next(ip) else { return };
            let after = instruction.next_ip();
            match instruction.flow_control() {
                FlowControl::Return => {
                    // `ret n` is not for functions that System V callers call.
                    if instruction.code() == Code::Retnq {
                        self.found_one(state.returns());
                    }
                    return;
                }
                FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => {
                    self.branch(after, &state);
                    if is_near(&instruction) {
                        self.branch(instruction.near_branch_target(), &state);
                    }
                    return;
                }
                FlowControl::UnconditionalBranch if is_near(&instruction) => {
                    self.branch(instruction.near_branch_target(), &state);
                    return;
                }
                // A jump through a fixed word (a PLT's) is a call that returns to our caller.
                FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => {
                    self.found_one(state.returns());
                    return;
                }
                FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => {
                    if state.execute(&instruction, &mut self.info) == Goes::Nowhere {
                        return;
                    }
                    ip = after;
                    if self.seen.get(&ip).is_some_and(|states| states.contains(&state.kept())) {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    fn next(&mut self, ip: u64) -> Option<Instruction> {
        self.instructions_left = self.instructions_left.checked_sub(1)?;
        let offset = usize::try_from(ip.checked_sub(self.base)?).ok()?;
        let bytes = self.code.get(offset..).filter(|bytes| !bytes.is_empty())?;
        let instruction = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    fn branch(&mut self, to: u64, state: &State) {
        let states = self.seen.entry(to).or_default();
        let kept = state.kept();
        if states.len() < MAX_STATES_OF_PLACE && !states.contains(&kept) {
            states.push(kept);
            self.paths.push_back((to, state.clone()));
        }
    }

    fn found_one(&mut self, rule: Option<ReturnRule>) {
        let Some(rule) = rule.filter(|rule| !self.found.contains(rule)) else { return };
        self.found.push(rule);
        let left = if self.found.len() < MAX_CANDIDATES { MAX_INSTRUCTIONS_AFTER_FIRST } else { 0 };
        self.instructions_left = self.instructions_left.min(left);
    }
}

fn is_near(instruction: &Instruction) -> bool {
    instruction.op0_kind() == OpKind::NearBranch64
}

//! How far rbp lies above rsp, read from a function's code.
//!
//! A blocked thread's pc and sp are known without stopping it, its rbp is not. But in a function with a frame
//! pointer and a fixed frame, `rbp - rsp` is the same each time control is at a given instruction: the bytes
//! pushed and subtracted since `mov %rsp,%rbp`. So rbp is that constant plus sp.
//!
//! The code is followed along its branches, since depth is a property of paths, not of positions. Where paths
//! meet with different depths (a stack-probing loop), or rsp moves by a register's value (alloca, realignment),
//! there is no constant and no answer. Code that only a jump table or an exception reaches is not followed; it
//! gets the depth that all calls that were followed agree on, if they do.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};
use rustc_hash::FxHashMap;

use crate::Svma;

/// What the code says about `rbp - rsp` at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameDepth {
    /// This many bytes, always.
    Constant(i64),
    /// No constant, or not found out.
    Unknown,
}

/// The state between two instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Depth {
    /// rbp is the caller's.
    NoFrame,
    /// `rbp - rsp` is this.
    Known(i64),
    /// rbp is a frame pointer, but rsp has moved by an unknown amount.
    Dynamic,
}

/// Instructions followed at most.
const MAX_INSTRUCTIONS: usize = 1 << 17;

/// The depth before the instruction around `lookup`, in the function whose code begins at `start`.
pub(crate) fn frame_depth(code: &[u8], start: Svma, lookup: Svma) -> FrameDepth {
    let Some(target) = lookup.0.checked_sub(start.0).filter(|&target| target < code.len() as u64) else {
        return FrameDepth::Unknown;
    };
    let mut paths = Paths { code, base: start.0, seen: FxHashMap::default(), pending: Vec::new() };
    paths.follow();
    match paths.at(target) {
        Some(Depth::Known(bytes)) => FrameDepth::Constant(bytes),
        Some(_) => FrameDepth::Unknown,
        None => paths.depth_of_all_calls().map_or(FrameDepth::Unknown, FrameDepth::Constant),
    }
}

struct Visit {
    before: Depth,
    length: u64,
    is_call: bool,
}

struct Paths<'a> {
    code: &'a [u8],
    base: u64,
    /// By offset of the instruction.
    seen: FxHashMap<u64, Visit>,
    pending: Vec<(u64, Depth)>,
}

impl Paths<'_> {
    fn follow(&mut self) {
        let mut info = InstructionInfoFactory::new();
        self.pending.push((0, Depth::NoFrame));
        while let Some((mut offset, mut depth)) = self.pending.pop() {
            while self.seen.len() < MAX_INSTRUCTIONS {
                if let Some(visit) = self.seen.get_mut(&offset) {
                    if visit.before == depth || visit.before == Depth::Dynamic {
                        break;
                    }
                    visit.before = Depth::Dynamic;
                    depth = Depth::Dynamic;
                }
                let Some(instruction) = self.decode(offset) else { break };
                let is_call =
                    matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
                let length = instruction.len() as u64;
                self.seen.insert(offset, Visit { before: depth, length, is_call });
                depth = after(&instruction, depth, &mut info);
                match instruction.flow_control() {
                    FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => offset += length,
                    FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => {
                        self.pending.extend(self.branch_target(&instruction).map(|target| (target, depth)));
                        offset += length;
                    }
                    FlowControl::UnconditionalBranch => match self.branch_target(&instruction) {
                        Some(target) => offset = target,
                        None => break,
                    },
                    _ => break,
                }
            }
        }
    }

    fn decode(&self, offset: u64) -> Option<Instruction> {
        let bytes = self.code.get(usize::try_from(offset).ok()?..).filter(|bytes| !bytes.is_empty())?;
        let ip = self.base.wrapping_add(offset);
        let instruction = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode();
        (!instruction.is_invalid()).then_some(instruction)
    }

    fn branch_target(&self, instruction: &Instruction) -> Option<u64> {
        let near = matches!(instruction.op0_kind(), OpKind::NearBranch64);
        let offset = instruction.near_branch_target().wrapping_sub(self.base);
        (near && offset < self.code.len() as u64).then_some(offset)
    }

    /// The state before the instruction that `offset` lies in.
    fn at(&self, offset: u64) -> Option<Depth> {
        (0..15).find_map(|back| {
            let visit = self.seen.get(&offset.checked_sub(back)?)?;
            (back < visit.length).then_some(visit.before)
        })
    }

    fn depth_of_all_calls(&self) -> Option<i64> {
        let mut depths = self.seen.values().filter(|visit| visit.is_call).map(|visit| visit.before);
        let first = depths.next()?;
        match first {
            Depth::Known(bytes) if depths.all(|depth| depth == first) => Some(bytes),
            _ => None,
        }
    }
}

/// The state after an instruction.
fn after(instruction: &Instruction, before: Depth, info: &mut InstructionInfoFactory) -> Depth {
    let moved = |bytes: i64| match before {
        Depth::Known(depth) => Depth::Known(depth.wrapping_add(bytes)),
        other => other,
    };
    let operand =
        |register| instruction.op0_kind() == OpKind::Register && instruction.op0_register() == register;
    let from =
        |register| instruction.op1_kind() == OpKind::Register && instruction.op1_register() == register;
    let address_of = |register| {
        let plain = instruction.memory_base() == register && instruction.memory_index() == Register::None;
        (instruction.mnemonic() == Mnemonic::Lea && plain)
            .then_some(instruction.memory_displacement64() as i64)
    };
    match instruction.mnemonic() {
        Mnemonic::Mov if operand(Register::RBP) && from(Register::RSP) => return Depth::Known(0),
        Mnemonic::Mov if operand(Register::RSP) && from(Register::RBP) && before != Depth::NoFrame => {
            return Depth::Known(0);
        }
        Mnemonic::Lea if operand(Register::RBP) => {
            return address_of(Register::RSP).map_or(Depth::NoFrame, Depth::Known);
        }
        Mnemonic::Lea if operand(Register::RSP) => {
            if let Some(displacement) = address_of(Register::RSP) {
                return moved(displacement.wrapping_neg());
            }
            return match (address_of(Register::RBP), before) {
                (Some(displacement), Depth::Known(_) | Depth::Dynamic) => {
                    Depth::Known(displacement.wrapping_neg())
                }
                (_, Depth::NoFrame) => Depth::NoFrame,
                _ => Depth::Dynamic,
            };
        }
        Mnemonic::Sub | Mnemonic::Add if operand(Register::RSP) => {
            let Ok(immediate) = instruction.try_immediate(1) else { return dynamic(before) };
            let immediate = immediate as i64;
            let grows = instruction.mnemonic() == Mnemonic::Sub;
            return moved(if grows { immediate } else { immediate.wrapping_neg() });
        }
        Mnemonic::Leave | Mnemonic::Enter => return Depth::NoFrame,
        Mnemonic::Pop if operand(Register::RBP) => return Depth::NoFrame,
        Mnemonic::Call | Mnemonic::Syscall => return before,
        _ => {}
    }
    if instruction.is_stack_instruction() {
        return moved(-i64::from(instruction.stack_pointer_increment()));
    }
    let writes = |register: Register, info: &mut InstructionInfoFactory| {
        info.info(instruction).used_registers().iter().any(|used| {
            used.register().full_register() == register
                && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess)
        })
    };
    if writes(Register::RBP, info) {
        return Depth::NoFrame;
    }
    if writes(Register::RSP, info) { dynamic(before) } else { before }
}

fn dynamic(before: Depth) -> Depth {
    match before {
        Depth::NoFrame => Depth::NoFrame,
        _ => Depth::Dynamic,
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameDepth, frame_depth};
    use crate::Svma;

    const START: u64 = 0x1000;

    fn depth_at(code: &[u8], offset: u64) -> FrameDepth {
        frame_depth(code, Svma(START), Svma(START + offset))
    }

    #[test]
    fn pushes_and_subtractions_after_the_frame_pointer_count() {
        let code = [
            0x55, //                         0: push %rbp
            0x48, 0x89, 0xe5, //             1: mov %rsp,%rbp
            0x53, //                         4: push %rbx
            0x48, 0x83, 0xec, 0x18, //       5: sub $0x18,%rsp
            0xe8, 0, 0, 0, 0, //             9: call
            0x48, 0x8b, 0x5d, 0xf8, //      14: mov -8(%rbp),%rbx
            0xc9, //                        18: leave
            0xc3, //                        19: ret
        ];
        assert_eq!(depth_at(&code, 1), FrameDepth::Unknown, "rbp is still the caller's");
        assert_eq!(depth_at(&code, 4), FrameDepth::Constant(0));
        assert_eq!(
            depth_at(&code, 13),
            FrameDepth::Constant(0x20),
            "in the call, as a return address is looked up"
        );
        assert_eq!(depth_at(&code, 18), FrameDepth::Constant(0x20));
        assert_eq!(depth_at(&code, 19), FrameDepth::Unknown, "after leave");
        assert_eq!(depth_at(&code, 20), FrameDepth::Unknown, "beyond the code");
    }

    #[test]
    fn code_after_an_early_return_has_the_depth_of_the_branch_to_it() {
        let code = [
            0x55, //                         0: push %rbp
            0x48, 0x89, 0xe5, //             1: mov %rsp,%rbp
            0x48, 0x83, 0xec, 0x10, //       4: sub $0x10,%rsp
            0x85, 0xff, //                   8: test %edi,%edi
            0x75, 0x02, //                  10: jne 14
            0xc9, //                        12: leave
            0xc3, //                        13: ret
            0x6a, 0x01, //                  14: push $1
            0xe8, 0, 0, 0, 0, //            16: call
            0x48, 0x83, 0xc4, 0x08, //      21: add $8,%rsp
            0xeb, 0xf1, //                  25: jmp 12
        ];
        assert_eq!(depth_at(&code, 14), FrameDepth::Constant(0x10));
        assert_eq!(depth_at(&code, 20), FrameDepth::Constant(0x18), "an argument is on the stack");
        assert_eq!(depth_at(&code, 25), FrameDepth::Constant(0x10));
    }

    #[test]
    fn there_is_no_answer_below_alloca_and_realignment() {
        let alloca = [
            0x55, //                         0: push %rbp
            0x48, 0x89, 0xe5, //             1: mov %rsp,%rbp
            0x48, 0x29, 0xc4, //             4: sub %rax,%rsp
            0xe8, 0, 0, 0, 0, //             7: call
            0x48, 0x8d, 0x65, 0xf0, //      12: lea -0x10(%rbp),%rsp
            0xe8, 0, 0, 0, 0, //            16: call
        ];
        assert_eq!(depth_at(&alloca, 11), FrameDepth::Unknown);
        assert_eq!(depth_at(&alloca, 20), FrameDepth::Constant(0x10), "rsp is set from rbp again");
        let realigned = [
            0x55, //                         0: push %rbp
            0x48, 0x89, 0xe5, //             1: mov %rsp,%rbp
            0x48, 0x83, 0xe4, 0xe0, //       4: and $-32,%rsp
            0xe8, 0, 0, 0, 0, //             8: call
        ];
        assert_eq!(depth_at(&realigned, 12), FrameDepth::Unknown);
    }

    #[test]
    fn a_loop_that_moves_rsp_has_no_constant() {
        let probing = [
            0x55, //                         0: push %rbp
            0x48, 0x89, 0xe5, //             1: mov %rsp,%rbp
            0x48, 0x83, 0xec, 0x40, //       4: sub $0x40,%rsp
            0x39, 0xc4, //                   8: cmp %eax,%esp
            0x75, 0xf8, //                  10: jne 4
            0xe8, 0, 0, 0, 0, //            12: call
        ];
        assert_eq!(depth_at(&probing, 16), FrameDepth::Unknown);
    }

    #[test]
    fn code_reached_only_by_a_jump_table_has_the_depth_that_all_calls_have() {
        let code = [
            0x55, //                         0: push %rbp
            0x48, 0x89, 0xe5, //             1: mov %rsp,%rbp
            0x48, 0x83, 0xec, 0x30, //       4: sub $0x30,%rsp
            0xe8, 0, 0, 0, 0, //             8: call
            0xff, 0xe0, //                  13: jmp *%rax
            0xe8, 0, 0, 0, 0, //            15: call
        ];
        assert_eq!(depth_at(&code, 19), FrameDepth::Constant(0x30));
    }

    #[test]
    fn random_bytes_end_somehow() {
        let mut state = 1u64;
        for _ in 0..200 {
            let code: Vec<u8> = (0..600)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .collect();
            for offset in [0, 1, 17, 599, 600, u64::MAX - START] {
                depth_at(&code, offset);
            }
        }
    }
}

//! From a row of call frame information to a [`FrameRule`].
//!
//! Compilers write a handful of shapes; what fits none of them becomes a general rule, evaluated by its letter.

use std::num::NonZeroI16;

use gimli::{EndianSlice, LittleEndian, Reader};

use super::unwind_rule::Saved;
use super::{FrameRule, Registers, SavedRegisters, signal_frame};
use crate::cfi::{CfaSource, GeneralRule, RegisterSource};

/// The compact form of a row, and where it saves the other callee-saved registers; `None`: no shape fits.
pub(crate) fn classify(row: &GeneralRule) -> Option<(FrameRule, SavedRegisters)> {
    Some((compact(row)?, saved_registers(row)))
}

fn compact(row: &GeneralRule) -> Option<FrameRule> {
    let return_address = row.register(Registers::RETURN_ADDRESS);
    if matches!(return_address, None | Some(RegisterSource::Undefined)) {
        return Some(FrameRule::End);
    }
    if row.signal_frame {
        return is_kernel_signal_frame(row).then_some(FrameRule::Signal);
    }
    if return_address != Some(&RegisterSource::AtCfa(-8)) {
        return None;
    }
    if !matches!(row.register(Registers::RSP), None | Some(RegisterSource::IsCfa(0))) {
        return None;
    }
    match &row.cfa {
        CfaSource::Register { register: Registers::RSP, offset } => {
            Some(FrameRule::Sp { saved_bp: saved_bp(row)?, cfa_offset: i32::try_from(*offset).ok()? })
        }
        CfaSource::Register { register: Registers::RBP, offset } => {
            Some(FrameRule::Bp { saved_bp: saved_bp(row)?, cfa_offset: i32::try_from(*offset).ok()? })
        }
        CfaSource::Register { .. } => None,
        CfaSource::Expression(bytes) => bp_deref(row, bytes).or_else(|| plt(row, bytes)),
    }
}

/// `None`: not expressible; `Some(None)`: unchanged.
fn saved_bp(row: &GeneralRule) -> Option<Option<NonZeroI16>> {
    match row.register(Registers::RBP) {
        None | Some(RegisterSource::Unchanged | RegisterSource::Undefined) => Some(None),
        Some(RegisterSource::AtCfa(offset)) => Some(Some(NonZeroI16::new(i16::try_from(*offset).ok()?)?)),
        Some(_) => None,
    }
}

/// The CFA lies in a slot at `rbp + k`, as gcc's stack realignment leaves it: `DW_OP_breg6 k; DW_OP_deref`.
fn bp_deref(row: &GeneralRule, cfa: &[u8]) -> Option<FrameRule> {
    let (Registers::RBP, cfa_slot, rest) = register_plus(cfa)? else { return None };
    let Some(RegisterSource::AtExpression(bp)) = row.register(Registers::RBP) else { return None };
    let (Registers::RBP, saved_bp, []) = register_plus(bp)? else { return None };
    let cfa_slot = i32::try_from(cfa_slot).ok()?;
    (rest == [gimli::DW_OP_deref.0])
        .then_some(FrameRule::BpDeref { saved_bp: i16::try_from(saved_bp).ok()?, cfa_slot })
}

/// binutils' rule for `.plt`: `rsp + 8 + (((rip & 15) >= n) << 3)`.
fn plt(row: &GeneralRule, cfa: &[u8]) -> Option<FrameRule> {
    let [0x77, 8, 0x80, 0, mask, and, literal, rest @ ..] = cfa else { return None };
    let shape = [gimli::DW_OP_ge.0, gimli::DW_OP_lit3.0, gimli::DW_OP_shl.0, gimli::DW_OP_plus.0];
    let fits = (*mask, *and) == (gimli::DW_OP_lit15.0, gimli::DW_OP_and.0) && rest == shape;
    let pushed_at = literal.checked_sub(gimli::DW_OP_lit0.0).filter(|&at| at < 16)?;
    (fits && saved_bp(row)?.is_none()).then_some(FrameRule::Plt { pushed_at })
}

/// Whether the row describes the frame that the kernel builds, rather than one of another making.
fn is_kernel_signal_frame(row: &GeneralRule) -> bool {
    let slot_of = |bytes: &[u8]| match register_plus(bytes) {
        Some((Registers::RSP, offset, rest)) => Some((offset, rest.to_vec())),
        _ => None,
    };
    let cfa = match &row.cfa {
        CfaSource::Expression(bytes) => slot_of(bytes),
        CfaSource::Register { .. } => None,
    };
    let ip = match row.register(Registers::RETURN_ADDRESS) {
        Some(RegisterSource::AtExpression(bytes)) => slot_of(bytes),
        _ => None,
    };
    let offset_in_frame = |register| signal_frame::offset_of(register).map(i64::from);
    cfa.is_some_and(|(at, rest)| {
        Some(at) == offset_in_frame(Registers::RSP) && rest == [gimli::DW_OP_deref.0]
    }) && ip
        .is_some_and(|(at, rest)| Some(at) == offset_in_frame(Registers::RETURN_ADDRESS) && rest.is_empty())
}

/// Reads `DW_OP_bregN offset` and gives the register, the offset and what follows.
fn register_plus(expression: &[u8]) -> Option<(u16, i64, &[u8])> {
    let (&operation, rest) = expression.split_first()?;
    let register = operation.checked_sub(gimli::DW_OP_breg0.0).filter(|&register| register < 32)?;
    let mut reader = EndianSlice::new(rest, LittleEndian);
    let offset = reader.read_sleb128().ok()?;
    Some((register.into(), offset, reader.slice()))
}

fn saved_registers(row: &GeneralRule) -> SavedRegisters {
    let mut saved = SavedRegisters::default();
    for (register, source) in &row.registers {
        let how = match source {
            RegisterSource::Unchanged | RegisterSource::Undefined => Saved::Unchanged,
            RegisterSource::AtCfa(offset) => i16::try_from(*offset).map_or(Saved::Lost, Saved::AtCfa),
            _ => Saved::Lost,
        };
        saved.set(*register, how);
    }
    saved
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI16;

    use super::*;

    fn row(cfa: CfaSource, registers: Vec<(u16, RegisterSource)>) -> GeneralRule {
        GeneralRule { cfa, registers, signal_frame: false }
    }

    fn at(register: u16, offset: i64) -> CfaSource {
        CfaSource::Register { register, offset }
    }

    const RETURN: (u16, RegisterSource) = (Registers::RETURN_ADDRESS, RegisterSource::AtCfa(-8));

    fn rule(row: &GeneralRule) -> Option<FrameRule> {
        classify(row).map(|(rule, _)| rule)
    }

    #[test]
    fn the_usual_rows_are_compact() {
        let leaf = row(at(Registers::RSP, 8), vec![RETURN]);
        assert_eq!(rule(&leaf), Some(FrameRule::Sp { saved_bp: None, cfa_offset: 8 }));
        let framed = row(at(Registers::RBP, 16), vec![RETURN, (Registers::RBP, RegisterSource::AtCfa(-16))]);
        let saved_bp = NonZeroI16::new(-16);
        assert_eq!(rule(&framed), Some(FrameRule::Bp { saved_bp, cfa_offset: 16 }));
        let start = row(at(Registers::RSP, 8), vec![(Registers::RETURN_ADDRESS, RegisterSource::Undefined)]);
        assert_eq!(rule(&start), Some(FrameRule::End));
    }

    #[test]
    fn other_saved_registers_are_kept_beside_the_rule() {
        let registers = vec![
            RETURN,
            (Registers::RBX, RegisterSource::AtCfa(-56)),
            (12, RegisterSource::AtCfa(-1 << 20)),
            (13, RegisterSource::Register(3)),
        ];
        let (_, saved) = classify(&row(at(Registers::RSP, 64), registers)).unwrap();
        assert_eq!(saved.get(Registers::RBX), Saved::AtCfa(-56));
        assert_eq!((saved.get(12), saved.get(13)), (Saved::Lost, Saved::Lost), "too far away, and elsewhere");
        assert_eq!(saved.get(14), Saved::Unchanged);
        assert_eq!(saved.get(10), Saved::Lost, "r10 is the callee's to destroy");
    }

    #[test]
    fn realigned_and_lazily_bound_code_is_compact_too() {
        // DW_OP_breg6 -8; DW_OP_deref, and rbp at DW_OP_breg6 0: main() of gcc -mstackrealign
        let bp = RegisterSource::AtExpression(Box::from([0x76, 0x00]));
        let cfa = CfaSource::Expression(Box::from([0x76, 0x78, 0x06]));
        let realigned = row(cfa, vec![RETURN, (Registers::RBP, bp)]);
        assert_eq!(rule(&realigned), Some(FrameRule::BpDeref { saved_bp: 0, cfa_slot: -8 }));
        // breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus
        let plt = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
        let plt = row(CfaSource::Expression(Box::from(plt)), vec![RETURN]);
        assert_eq!(rule(&plt), Some(FrameRule::Plt { pushed_at: 11 }));
    }

    #[test]
    fn the_kernels_signal_frame_is_known_and_others_stay_general() {
        // glibc's __restore_rt: CFA = *(rsp + 160), rip at rsp + 168
        let cfa = CfaSource::Expression(Box::from([0x77, 0xa0, 0x01, 0x06]));
        let ip = RegisterSource::AtExpression(Box::from([0x77, 0xa8, 0x01]));
        let mut frame = row(cfa, vec![(Registers::RETURN_ADDRESS, ip)]);
        frame.signal_frame = true;
        assert_eq!(rule(&frame), Some(FrameRule::Signal));
        frame.registers[0].1 = RegisterSource::AtExpression(Box::from([0x77, 0xb0, 0x01]));
        assert_eq!(rule(&frame), None);
    }

    #[test]
    fn what_fits_no_shape_stays_general() {
        assert_eq!(rule(&row(at(13, 0), vec![RETURN])), None, "CFA from r13");
        let elsewhere = vec![(Registers::RETURN_ADDRESS, RegisterSource::AtCfa(-16))];
        assert_eq!(rule(&row(at(Registers::RSP, 8), elsewhere)), None);
        assert_eq!(rule(&row(at(Registers::RSP, 1 << 40), vec![RETURN])), None);
    }
}

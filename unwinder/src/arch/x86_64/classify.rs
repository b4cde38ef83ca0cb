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

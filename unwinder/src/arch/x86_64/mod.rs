//! x86_64, System V ABI (psABI 1.0, section 3.6 "DWARF definition" numbers the registers).

mod call;
mod classify;
mod epilogue;
mod prologue;
mod registers;
pub(crate) mod signal_frame;
mod special_code;
mod unwind_rule;

pub use registers::Registers;

pub(crate) use call::{LONGEST_CALL, follows_call};
pub(crate) use classify::classify;
pub(crate) use epilogue::{Base, CallersBp, Place, ReturnRule, return_rules};
pub(crate) use prologue::{FrameDepth, frame_depth};
pub(crate) use special_code::{LONGEST_SPECIAL_CODE, SpecialCode, is_program_entry, special_code};
pub(crate) use unwind_rule::{FrameRule, Saved, SavedRegisters};

/// `e_machine` of this processor's ELF files (EM_X86_64).
pub(crate) const ELF_MACHINE: u16 = 62;
/// Bytes of a page; files are mapped in whole pages.
pub(crate) const PAGE_SIZE: u64 = 4096;

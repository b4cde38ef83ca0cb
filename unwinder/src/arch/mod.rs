//! Everything that differs between processors, one folder each with the same file names.
//!
//! x86_64 is the only one so far; aarch64 is a folder beside it and a line here.

mod x86_64;

pub use x86_64::Registers;
pub(crate) use x86_64::{
    Base, CallersBp, ELF_MACHINE, FrameDepth, FrameRule, LONGEST_CALL, LONGEST_SPECIAL_CODE, PAGE_SIZE,
    Place, ReturnRule, Saved, SavedRegisters, SpecialCode, classify, follows_call, frame_depth,
    is_program_entry, return_rules, signal_frame, special_code,
};

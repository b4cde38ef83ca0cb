//! Call frame information (DWARF 5 section 6.4, and the `.eh_frame` variant of the Linux Standard Base), compiled
//! once per module into a table that a binary search can use.
//!
//! ```text
//!   .eh_frame    ─┐  sections    gimli rows     arch::classify      table
//!   .debug_frame ─┴──► FDEs ───► GeneralRule ───► FrameRule ───► (u32 pc, u16 palette index) rows
//!                                      └──────── what fits no compact shape stays a GeneralRule
//! ```

mod compile;
mod general_rule;
mod sections;
mod table;

pub(crate) use general_rule::{CfaSource, Frame as GeneralFrame, GeneralRule, RegisterSource, StepError};
pub(crate) use table::CfiTable;

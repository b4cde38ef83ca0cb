//! Everything that differs between processors, one folder each with the same file names.
//!
//! x86_64 is the only one so far; aarch64 is a folder beside it and a line here.

mod x86_64;

pub use x86_64::Registers;

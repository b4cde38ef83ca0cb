//! x86_64, System V ABI (psABI 1.0, section 3.6 "DWARF definition" numbers the registers).

mod registers;

pub use registers::Registers;

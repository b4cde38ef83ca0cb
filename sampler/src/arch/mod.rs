//! What differs between processors on the way from the kernel to our [`Registers`], one file each.
//!
//! aarch64 is a file beside `x86_64.rs` with the same functions, and a line here.
//!
//! [`Registers`]: stackclock_unwinder::Registers

mod x86_64;

pub use x86_64::{is_own_machine, registers_at_stop, registers_in_call, restart_instead_of_eintr};

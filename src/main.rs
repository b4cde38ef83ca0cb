//! The `stackclock` command.
#![forbid(unsafe_code)]

fn main() {}

//! Standard error, for people. Nobody reading it is no reason to fail, so write errors are ignored here, where
//! `eprintln!` would panic.

use std::fmt;
use std::io::{self, IsTerminal, Write};

/// Writes a line.
pub fn line(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes text that has its own line breaks.
pub fn text(text: impl fmt::Display) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// Whether a line can be rewritten in place.
pub fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

//! Folded text: a line per stack, `root;caller;leaf 1234`, read and written by every flame graph tool.
//!
//! Frames are printed by [`Frame::text`](crate::Frame::text) and joined by `;`, root first; the number after the
//! last space is time in microseconds, or a count of samples ([`Numbers`]). The format knows no quoting, so what
//! would break a line is written with a backslash: `\\` for `\`, `\x3b` for `;`, `\n` and `\r` for line ends, and
//! `\x23` for a `#` that begins a line (`# ` begins a comment). Spaces stay as they are: only the last one of a
//! line separates. [`read`] undoes all of it; a backslash before anything else, as other tools may write it, stays.

mod escape;
mod read;
mod write;

pub use read::{FoldedFile, read};
pub(crate) use write::microseconds;
pub use write::write;

/// What the numbers of folded text count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Numbers {
    /// Time in microseconds. The default.
    #[default]
    Microseconds,
    /// Observations, as py-spy writes them (`--counts`).
    Samples {
        /// The time that one sample stands for when a file is read, ns.
        interval_ns: u64,
    },
}

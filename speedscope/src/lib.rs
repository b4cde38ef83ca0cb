//! The speedscope file format: types, writer, reader.
//!
//! *You provide* a [`View`](stackclock_collapse::View) of a profile; [`write()`] streams it as one "sampled" profile
//! per thread, samples in time order with weights in nanoseconds. [`read()`] takes such files, ours or another
//! program's, sampled or evented, back into a [`Profile`](stackclock_collapse::Profile). [`format`](mod@format) has
//! the types of the format itself.
//!
//! # Time that is not shown
//!
//! speedscope lays the samples of a profile end to end and has no field for when one began. Time that a view does
//! not show (blocked time without `--idle`) is therefore written as samples with an empty stack, which speedscope
//! draws as nothing, so that everything after it stays where it belongs:
//!
//! ```text
//!   thread    startValue ├─ train ─┤ (blocked) ├─ train ─┤ endValue
//!   samples              [0, 1]     []          [0, 1]        weights add up to endValue - startValue
//! ```
#![forbid(unsafe_code)]

pub mod format;
mod read;
mod write;

pub use read::{ReadError, read};
pub use write::write;

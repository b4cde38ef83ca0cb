//! pprof's file format: gzipped protocol buffers, as Go and many others write and `pprof` shows.
//!
//! *You provide* a [`View`](crate::View); [`write()`] makes of it a profile with two values per stack and thread,
//! `samples/count` and `wall/nanoseconds`, the latter the default. [`read()`] takes such files, ours or another
//! program's, back into a [`Profile`](crate::Profile).
//!
//! ```text
//!   sample ── labels: process, pid, thread, tid, state
//!      └───── locations, leaf first ──┬─ mapping: the module
//!                                     └─ lines, innermost first: what was inlined, then the function itself
//! ```
//!
//! Process and thread frames are no functions and are written as labels only (`pprof -tagroot process,thread`
//! makes frames of them); the state is a label and, as in all formats, the leaf frame. The order of samples in time
//! is not kept: the format has no place for it.
//!
//! # Files that lie
//!
//! A few kilobytes of gzip can unpack to gigabytes, and a few bytes that name a long string or a long location again
//! and again to more than that. Both are bounded: see [`ReadError::TooLarge`].

mod format;
mod gzip;
mod read;
mod symbols;
mod value;
mod write;

pub use gzip::GZIP_MAGIC;
pub use read::{ReadError, read};
pub use write::write;

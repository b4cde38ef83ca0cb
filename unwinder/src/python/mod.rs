//! CPython's frames, read from outside: 3.6 to 3.15, with and without a global interpreter lock.
//!
//! ```text
//!   while the thread stands still           when it runs again
//!   ─────────────────────────────           ──────────────────
//!   Interpreter::capture                    CodeTable::resolve
//!     frames, code identities, anchors  ──►   names, files, lines  ──► PythonStack ──► merge
//! ```
//!
//! *You provide* where the runtime is ([`Location`]) and the target's memory; nothing in here finds, stops or writes
//! to a process. Everything read is checked, every loop over it is bounded, and what does not fit together is an
//! error. Frames go from the innermost outwards.
//!
//! Where the fields are is data, one row per version (`layout`); which code object is which is decided by more
//! than its address (`identity`).

mod capture;
mod code;
mod error;
mod gil;
mod identity;
mod interpreter;
mod layout;
mod lines;
mod plumbing;
mod running;
mod snapshot;
#[cfg(test)]
mod tests;
mod text;
mod thread_id;
mod version;
mod walk;

pub use capture::{Anchor, PythonCapture, PythonRun, ThreadHints};
pub use code::{CodeCache, CodeTable, PythonCode, PythonFrame, PythonStack};
pub use error::PythonError;
pub use gil::GilSymbols;
pub use identity::CodeIdentity;
pub use interpreter::{Interpreter, Location, PythonThread};
pub use plumbing::is_plumbing;
pub use running::{Reading, RunningReader};
pub use version::PythonVersion;

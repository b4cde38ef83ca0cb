//! What it means: from the registers and bytes of one thread to its merged native and Python stack.
//!
//! *You provide* registers, a [`Memory`] (copied stack bytes, a stored capture, a live process behind a trait)
//! and the ELF files that the process has mapped; *we provide* native frames from call frame information,
//! CPython frames from the interpreter's own structures, both merged by address, and names for all of them.
//! *Not for* finding, stopping or reading processes: nothing in here does I/O on a live process, so everything
//! is tested from stored captures.
//!
//! ```text
//!   registers + stack bytes ──► native::Unwinder ──► NativeStack ─┐
//!   frame-chain bytes ──► python::Interpreter ──► PythonStack ────┴─► merge ──► [RawFrame] ──► Symbolizer ──► [Frame]
//!                                                                              while recording │ when output is made
//! ```
//!
//! Addresses follow framehop's words: an AVMA is an address in the running process, an SVMA is one as the
//! ELF file states it, and the bias is their difference for one mapped module.

mod address;
mod arch;
mod capture;
mod cfi;
mod memory;
mod module;
mod raw_frame;

pub mod merge;
pub mod native;
pub mod python;
pub mod symbolize;

pub use address::{Avma, FrameAddress, Svma};
pub use arch::Registers;
pub use capture::{Capture, StackBytes};
pub use memory::{Memory, MemoryError, ReadPart, SliceMemory};
pub use raw_frame::{Failure, Incompleteness, ModuleId, PythonCodeId, RawFrame, Truncation};

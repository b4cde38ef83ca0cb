//! Native stacks: modules, their compiled call frame information, and the walk.
//!
//! *You provide* the files that a process has mapped ([`ModuleStore`]), where ([`AddressSpace`]), and a thread's
//! registers and memory; *we provide* its frames ([`Unwinder`], [`NativeStack`]).
//!
//! ```text
//!   pc ─► pc cache (2048 entries) ─────────────────────────────────► FrameRule ─► caller's pc, sp, rbp
//!            └ miss ─► AddressSpace ─► Module ─► CfiTable (built on first use) ─┘
//! ```

mod address_space;
mod pc_cache;
mod saved_registers;
mod stack;
mod unwinder;

pub use crate::module::{
    ContentKey, Module, ModuleError, ModuleFile, ModuleSource, ModuleStore, SectionBytes, Segment,
};
pub use address_space::{AddressSpace, CodePlace, Mapped, Mapping};
pub use stack::{FoundBy, NativeFrame, NativeStack, StackEnd};
pub use unwinder::Unwinder;

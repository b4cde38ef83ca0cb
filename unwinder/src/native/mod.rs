//! Native stacks: modules, their compiled call frame information, and the walk.
//!
//! *You provide* the files that a process has mapped ([`ModuleStore`]), where ([`AddressSpace`]), and a thread's
//! registers and memory; *we provide* its frames ([`Unwinder`], [`NativeStack`]).
//!
//! ```text
//!   pc ─► pc cache (2048 entries) ─────────────────────────────────► FrameRule ─► caller's pc, sp, rbp
//!            └ miss ─► AddressSpace ─► Module ─► CfiTable (built on first use) ─┘
//! ```
//!
//! A stack without any file, to show the calls: code of a JIT, called once by itself.
//!
//! ```
//! use stackclock_unwinder::native::{AddressSpace, Mapped, Mapping, ModuleStore, NativeStack, StackEnd, Unwinder};
//! use stackclock_unwinder::{Avma, FrameAddress, Registers, SliceMemory, Truncation};
//!
//! let (start, end) = (Avma(0x1000), Avma(0x2000));
//! let mapping = Mapping { start, end, file_offset: 0, mapped: Mapped::AnonymousExecutable };
//! let space = AddressSpace::new(&ModuleStore::new(), [mapping]);
//!
//! let mut registers = Registers::new(Avma(0x1234), Avma(0x8000));
//! registers.set(Registers::RBP, Some(0x8008));
//! let words: [u64; 5] = [0, 0x8018, 0x1567, 0, 0]; // a local; caller's rbp, return address; the same again
//! let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
//! let memory = SliceMemory { start: Avma(0x8000), bytes: &bytes };
//!
//! let mut stack = NativeStack::default();
//! let ip = FrameAddress::InstructionPointer(registers.ip);
//! Unwinder::new().unwind(&space, ip, &registers, &memory, &mut stack);
//! let addresses: Vec<_> = stack.frames.iter().map(|frame| frame.address).collect();
//! assert_eq!(addresses, [ip, FrameAddress::ReturnAddress(Avma(0x1567))]);
//! // A frame pointer chain that ends in zero is no proof of having reached the root.
//! assert_eq!(stack.end, StackEnd::Truncated(Truncation::NoModule));
//! ```

mod address_space;
mod epilogue_step;
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

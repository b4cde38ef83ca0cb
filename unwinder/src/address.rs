//! Addresses that cannot be mistaken for each other.

use std::fmt;

/// Actual virtual memory address: an address in the running process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Avma(pub u64);

/// Stated virtual memory address: an address as the ELF file's headers count it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Svma(pub u64);

impl Avma {
    /// This address moved by `offset` bytes; wraps, since the operands come from a target.
    pub fn offset(self, offset: i64) -> Avma {
        Avma(self.0.wrapping_add_signed(offset))
    }

    /// Bytes from `start` to this address; `None` when it lies before.
    pub fn offset_from(self, start: Avma) -> Option<u64> {
        self.0.checked_sub(start.0)
    }
}

impl fmt::Debug for Avma {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "avma {:#x}", self.0)
    }
}

impl fmt::Debug for Svma {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "svma {:#x}", self.0)
    }
}

/// Where in its code a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameAddress {
    /// The instruction that executes next: the leaf, and the frame that a signal interrupted.
    InstructionPointer(Avma),
    /// The instruction after the call: every caller.
    ReturnAddress(Avma),
}

impl FrameAddress {
    /// The address as it stood in the register or on the stack.
    pub fn avma(self) -> Avma {
        match self {
            FrameAddress::InstructionPointer(avma) | FrameAddress::ReturnAddress(avma) => avma,
        }
    }

    /// The address with which to look up rules, symbols and lines.
    ///
    /// A call to a function that never returns may be the last instruction of its function, and the return
    /// address is then already in the next one; and the line of a caller is the line of its call. So return
    /// addresses are looked up one byte earlier, instruction pointers as they are.
    pub fn for_lookup(self) -> Avma {
        match self {
            FrameAddress::InstructionPointer(avma) => avma,
            FrameAddress::ReturnAddress(avma) => avma.offset(-1),
        }
    }
}

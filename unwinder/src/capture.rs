//! One thread at one instant, still raw.

use crate::{Avma, Memory, MemoryError, Registers, SliceMemory};

/// Stack bytes copied from [`Registers::stack_copy_start`] upwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackBytes {
    /// Address of the first byte.
    pub start: Avma,
    /// The bytes; where the copy ended says nothing of where the stack ends.
    pub bytes: Vec<u8>,
}

impl Memory for StackBytes {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        SliceMemory { start: self.start, bytes: &self.bytes }.read(address, into)
    }

    #[inline]
    fn read_u64(&self, address: Avma) -> Result<u64, MemoryError> {
        SliceMemory { start: self.start, bytes: &self.bytes }.read_u64(address)
    }
}

/// Registers and stack bytes of one thread, taken at one instant: while it was stopped, while it slept (and
/// provably did not run), or by the kernel itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// What is known of the registers.
    pub registers: Registers,
    /// The innermost part of the stack.
    pub stack: StackBytes,
}

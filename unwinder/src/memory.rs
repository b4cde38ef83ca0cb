//! Reading the target's memory, wherever it is: live, copied, stored, or made to fail.

use crate::Avma;

/// A read that did not deliver every byte asked for. A short read is an error, never zeroes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cannot read {length} bytes at {address:#x}")]
pub struct MemoryError {
    /// First byte wanted.
    pub address: u64,
    /// Bytes wanted.
    pub length: usize,
}

/// One piece of a scattered read.
#[derive(Debug)]
pub struct ReadPart<'a> {
    /// Where to read.
    pub address: Avma,
    /// Filled wholly, or not to be looked at.
    pub bytes: &'a mut [u8],
}

/// A target's memory. Implementations never panic on any address.
pub trait Memory {
    /// Fills `into` from `address`.
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError>;

    /// Fills all parts; a live process does it in one system call. An error says nothing of which parts were
    /// filled.
    fn read_many(&self, parts: &mut [ReadPart<'_>]) -> Result<(), MemoryError> {
        parts.iter_mut().try_for_each(|part| self.read(part.address, part.bytes))
    }

    /// The little-endian word at `address`.
    fn read_u64(&self, address: Avma) -> Result<u64, MemoryError> {
        let mut word = [0; 8];
        self.read(address, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    /// The little-endian half word at `address`.
    fn read_u32(&self, address: Avma) -> Result<u32, MemoryError> {
        let mut word = [0; 4];
        self.read(address, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }
}

impl<M: Memory + ?Sized> Memory for &M {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        (**self).read(address, into)
    }

    fn read_many(&self, parts: &mut [ReadPart<'_>]) -> Result<(), MemoryError> {
        (**self).read_many(parts)
    }
}

/// Bytes copied from one place of a target.
#[derive(Clone, Copy, Debug)]
pub struct SliceMemory<'a> {
    /// Address of the first byte.
    pub start: Avma,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl Memory for SliceMemory<'_> {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        let error = MemoryError { address: address.0, length: into.len() };
        let from = usize::try_from(address.offset_from(self.start).ok_or(error)?).map_err(|_| error)?;
        let to = from.checked_add(into.len()).ok_or(error)?;
        into.copy_from_slice(self.bytes.get(from..to).ok_or(error)?);
        Ok(())
    }

    // Most of what an unwind does; the general way costs twice as much.
    #[inline]
    fn read_u64(&self, address: Avma) -> Result<u64, MemoryError> {
        let from = address.0.wrapping_sub(self.start.0) as usize;
        match self.bytes.get(from..).and_then(|rest| rest.first_chunk()) {
            Some(word) => Ok(u64::from_le_bytes(*word)),
            None => Err(MemoryError { address: address.0, length: 8 }),
        }
    }
}

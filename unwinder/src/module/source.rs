//! Where a module's bytes are.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The content of an ELF file.
#[derive(Debug)]
pub enum ModuleSource {
    /// An open file, read with `pread`.
    File(File),
    /// Bytes already at hand: the vDSO, copied from a process.
    Bytes(Vec<u8>),
}

impl ModuleSource {
    /// The same content again: another descriptor of the file, or a copy of the bytes.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            ModuleSource::File(file) => ModuleSource::File(file.try_clone()?),
            ModuleSource::Bytes(bytes) => ModuleSource::Bytes(bytes.clone()),
        })
    }

    /// Length in bytes.
    pub(crate) fn size(&self) -> io::Result<u64> {
        match self {
            ModuleSource::File(file) => Ok(file.metadata()?.len()),
            ModuleSource::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Fills `into` from `offset`.
    pub(crate) fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            ModuleSource::File(file) => file.read_exact_at(into, offset),
            ModuleSource::Bytes(bytes) => {
                let part = usize::try_from(offset)
                    .ok()
                    .and_then(|from| bytes.get(from..from.checked_add(into.len())?))
                    .ok_or(io::ErrorKind::UnexpectedEof)?;
                into.copy_from_slice(part);
                Ok(())
            }
        }
    }

    /// `length` bytes from `offset`. Nothing is allocated for lengths that the file does not have.
    pub(super) fn read_vec(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(length).ok_or(io::ErrorKind::UnexpectedEof)?;
        if end > self.size()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }
}

//! What can be wrong with a module file.

use std::io;

/// Why an ELF file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ModuleError {
    /// Reading failed, or the file is shorter than its headers say.
    #[error("cannot read the module: {0}")]
    Io(#[from] io::Error),
    /// The first bytes are not those of an ELF file.
    #[error("not an ELF file")]
    NotElf,
    /// An ELF file, but not a 64-bit little-endian one for this processor.
    #[error("ELF class {class}, data encoding {encoding}, machine {machine} is not supported")]
    Unsupported {
        /// `EI_CLASS`: 1 for 32 bit.
        class: u8,
        /// `EI_DATA`: 2 for big-endian.
        encoding: u8,
        /// `e_machine`.
        machine: u16,
    },
    /// A header or section says something impossible.
    #[error("malformed ELF: {what} {value:#x}")]
    Malformed {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
}

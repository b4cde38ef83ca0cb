//! The symbol table that Fedora and its kin keep, compressed, within stripped files.
//!
//! See "MiniDebugInfo" in the GDB manual: the section `.gnu_debugdata` is an xz stream of an ELF file whose
//! `.symtab` has the functions that `.dynsym` has not.

use std::io::Read;

use lzma_rust2::XzReader;
use object::read::ReadRef;

use super::elf_file::{self, Elf};

/// The largest dictionary that `xz -9` uses is 64 MiB.
const MAX_DECODER_KIB: u32 = 80 << 10;

/// Real ones have a few megabytes; xz can make some ten thousand times more of its input.
const MAX_UNCOMPRESSED_BYTES: u64 = 256 << 20;

/// The ELF file within the section; `None` when there is none or it is broken.
pub(super) fn read<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> Option<Vec<u8>> {
    let compressed = elf_file::section_bytes(elf, ".gnu_debugdata")?;
    let mut bytes = Vec::new();
    let reader = XzReader::new_mem_limit(&*compressed, false, MAX_DECODER_KIB);
    reader.take(MAX_UNCOMPRESSED_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_UNCOMPRESSED_BYTES).then_some(bytes)
}

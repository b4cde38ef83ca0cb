//! Reading ELF files without mapping them.
//!
//! A mapped file that shrinks while it is read kills the reader with SIGBUS; a positioned read returns an
//! error. So section contents are read with `pread`, kept only as long as they are needed, and checked against
//! the length of the file before anything is allocated for them.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use object::read::elf::ElfFile64;
use object::read::{ReadCache, ReadCacheOps, ReadRef};
use object::{LittleEndian, Object, ObjectSection};

use crate::native::ModuleSource;

/// A parsed ELF file over any kind of storage. 64-bit little-endian, as every target that we unwind.
pub(super) type Elf<'data, R> = ElfFile64<'data, LittleEndian, R>;

/// Sections that say they are larger than this are not read: the largest real ones (`.debug_info` of a browser
/// or of libtorch) have less, and a compressed section's stated size is bounded by nothing else.
const MAX_SECTION_BYTES: u64 = 8 << 30;

/// Storage of known length that can be read anywhere.
pub(super) trait ReadAt: fmt::Debug {
    /// Length in bytes.
    fn len(&self) -> Option<u64>;

    /// Fills `into` from `offset`; `None` when it cannot be filled wholly.
    fn read_exact_at(&self, offset: u64, into: &mut [u8]) -> Option<()>;
}

impl ReadAt for File {
    fn len(&self) -> Option<u64> {
        self.metadata().ok().map(|metadata| metadata.len())
    }

    fn read_exact_at(&self, offset: u64, into: &mut [u8]) -> Option<()> {
        FileExt::read_exact_at(self, into, offset).ok()
    }
}

impl ReadAt for ModuleSource {
    fn len(&self) -> Option<u64> {
        self.size().ok()
    }

    fn read_exact_at(&self, offset: u64, into: &mut [u8]) -> Option<()> {
        self.read_at(offset, into).ok()
    }
}

/// The bytes of a file, each read when it is first looked at, through a position of our own: descriptors shared
/// with others are left where they stand.
pub(super) type FileBytes = ReadCache<Positioned>;

/// A place in a [`ReadAt`].
#[derive(Debug)]
pub(super) struct Positioned {
    source: Box<dyn ReadAt>,
    position: u64,
}

impl ReadCacheOps for Positioned {
    fn len(&mut self) -> Result<u64, ()> {
        self.source.len().ok_or(())
    }

    fn seek(&mut self, position: u64) -> Result<u64, ()> {
        self.position = position;
        Ok(position)
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize, ()> {
        let rest = self.len()?.saturating_sub(self.position);
        let length = into.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        self.read_exact(into.get_mut(..length).ok_or(())?)?;
        Ok(length)
    }

    fn read_exact(&mut self, into: &mut [u8]) -> Result<(), ()> {
        self.source.read_exact_at(self.position, into).ok_or(())?;
        self.position = self.position.checked_add(into.len() as u64).ok_or(())?;
        Ok(())
    }
}

/// What a source holds, to be parsed.
pub(super) fn file_bytes(source: impl ReadAt + 'static) -> FileBytes {
    ReadCache::new(Positioned { source: Box::new(source), position: 0 })
}

/// The bytes of the regular file at `path`; `None` when there is none that we may read. Anything else than a
/// regular file (a FIFO planted under the target's root would block us) is not opened.
pub(super) fn open(path: &Path) -> Option<File> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    File::open(path).ok()
}

/// The contents of a section, decompressed; `None` when it is absent, empty or broken.
pub(super) fn section_bytes<'data, R: ReadRef<'data>>(
    elf: &Elf<'data, R>,
    name: &str,
) -> Option<Cow<'data, [u8]>> {
    let section = elf.section_by_name(name)?;
    let data = section.compressed_data().ok()?;
    if data.uncompressed_size == 0 || data.uncompressed_size > MAX_SECTION_BYTES {
        return None;
    }
    data.decompress().ok()
}

/// Whether the file says in which lines and functions its code lies.
pub(super) fn has_debug_info<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>) -> bool {
    section_is_filled(elf, ".debug_info") || section_is_filled(elf, ".zdebug_info")
}

fn section_is_filled<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>, name: &str) -> bool {
    elf.section_by_name(name).is_some_and(|section| section.size() > 0)
}

/// The NUL-terminated string at `offset` of a string table; `None` when it is empty or leaves the table.
pub(super) fn string_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    let string = strings.get(offset as usize..)?;
    let length = string.iter().position(|&byte| byte == 0)?;
    string.get(..length).filter(|string| !string.is_empty())
}

//! The few ELF headers needed to find segments, sections and the build id (System V ABI, chapter 4 and 5).
//!
//! Every number read is believed only as far as the file has bytes for it.

use std::io;

use object::elf;
use object::read::{CompressedData, CompressionFormat};

use super::{ModuleError, ModuleSource, SectionBytes};
use crate::Svma;
use crate::arch;

/// Largest size that a compressed section may expand to.
const MAX_DECOMPRESSED: u64 = 2 << 30;
/// Most section headers believed; real files stay below 65,280 unless built with one section a function.
const MAX_SECTIONS: u64 = 1 << 18;

// The `elf.h` names, as numbers.
const PT_LOAD: u32 = elf::PT_LOAD.0;
const PT_NOTE: u32 = elf::PT_NOTE.0;
const PT_GNU_EH_FRAME: u32 = elf::PT_GNU_EH_FRAME.0;
const PF_X: u32 = elf::PF_X.0;
const SHN_XINDEX: u16 = elf::SHN_XINDEX.0;
const SHT_NOTE: u32 = elf::SHT_NOTE.0;
const SHT_NOBITS: u32 = elf::SHT_NOBITS.0;
const SHF_COMPRESSED: u64 = elf::SHF_COMPRESSED.0;
const ELFCOMPRESS_ZLIB: u32 = elf::ELFCOMPRESS_ZLIB.0;
const ELFCOMPRESS_ZSTD: u32 = elf::ELFCOMPRESS_ZSTD.0;
const NT_GNU_BUILD_ID: u32 = elf::NT_GNU_BUILD_ID.0;

/// A `PT_LOAD` segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First byte in the file.
    pub file_offset: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// First byte in memory, before the bias.
    pub svma: Svma,
    /// Bytes in memory.
    pub memory_size: u64,
    /// Whether it is mapped executable.
    pub executable: bool,
}

#[derive(Debug)]
struct Section {
    name: String,
    kind: u32,
    flags: u64,
    svma: Svma,
    file_offset: u64,
    size: u64,
}

/// The parsed headers.
#[derive(Debug)]
pub(super) struct Elf {
    pub(super) segments: Vec<Segment>,
    /// `e_entry`; zero where there is none.
    pub(super) entry: Svma,
    sections: Vec<Section>,
    /// `PT_NOTE` segments: file offset and size.
    notes: Vec<(u64, u64)>,
    /// `PT_GNU_EH_FRAME`: address, file offset and size.
    eh_frame_hdr: Option<(Svma, u64, u64)>,
}

/// Fields of a header by their offsets.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&self, offset: usize) -> Result<[u8; N], ModuleError> {
        let bytes = self.0.get(offset..).and_then(|rest| rest.first_chunk());
        bytes
            .copied()
            .ok_or(ModuleError::Malformed { what: "truncated header, field at", value: offset as u64 })
    }

    fn u16(&self, offset: usize) -> Result<u16, ModuleError> {
        self.array(offset).map(u16::from_le_bytes)
    }

    fn u32(&self, offset: usize) -> Result<u32, ModuleError> {
        self.array(offset).map(u32::from_le_bytes)
    }

    fn u64(&self, offset: usize) -> Result<u64, ModuleError> {
        self.array(offset).map(u64::from_le_bytes)
    }
}

impl Elf {
    pub(super) fn read(source: &ModuleSource) -> Result<Self, ModuleError> {
        let mut header = [0; 64];
        source.read_at(0, &mut header).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ModuleError::NotElf,
            _ => ModuleError::Io(error),
        })?;
        if !header.starts_with(&elf::ELFMAG) {
            return Err(ModuleError::NotElf);
        }
        let fields = Fields(&header);
        let [_, _, _, _, class, encoding, ..] = header;
        let machine = fields.u16(18)?;
        if (class, encoding, machine) != (2, 1, arch::ELF_MACHINE) {
            return Err(ModuleError::Unsupported { class, encoding, machine });
        }
        let mut parsed = Elf {
            segments: Vec::new(),
            entry: Svma(fields.u64(24)?),
            sections: Vec::new(),
            notes: Vec::new(),
            eh_frame_hdr: None,
        };
        parsed.read_program_headers(source, &fields)?;
        // Stripped to the bone (sstrip), damaged, or a copy from memory: a module without sections still has
        // its segments, and PT_GNU_EH_FRAME leads to its unwind information.
        parsed.sections = read_sections(source, &fields).unwrap_or_default();
        Ok(parsed)
    }

    fn read_program_headers(
        &mut self,
        source: &ModuleSource,
        header: &Fields<'_>,
    ) -> Result<(), ModuleError> {
        let (offset, size, count) = (header.u64(32)?, header.u16(54)?, header.u16(56)?);
        if size < 56 {
            return Err(ModuleError::Malformed { what: "e_phentsize", value: size.into() });
        }
        let bytes = source.read_vec(offset, u64::from(size) * u64::from(count))?;
        for bytes in bytes.chunks_exact(size.into()) {
            let fields = Fields(bytes);
            let (kind, flags) = (fields.u32(0)?, fields.u32(4)?);
            let (file_offset, svma) = (fields.u64(8)?, Svma(fields.u64(16)?));
            let (file_size, memory_size) = (fields.u64(32)?, fields.u64(40)?);
            match kind {
                PT_LOAD => self.segments.push(Segment {
                    file_offset,
                    file_size,
                    svma,
                    memory_size,
                    executable: flags & PF_X != 0,
                }),
                PT_NOTE => self.notes.push((file_offset, file_size)),
                PT_GNU_EH_FRAME => self.eh_frame_hdr = Some((svma, file_offset, file_size)),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn section(
        &self,
        source: &ModuleSource,
        name: &str,
    ) -> Result<Option<SectionBytes>, ModuleError> {
        let found = self.sections.iter().find(|section| section.name == name && section.kind != SHT_NOBITS);
        let Some(section) = found else { return Ok(None) };
        let bytes = source.read_vec(section.file_offset, section.size)?;
        let bytes = match section.flags & SHF_COMPRESSED {
            0 => bytes,
            _ => decompress(&bytes)?,
        };
        Ok(Some(SectionBytes { svma: section.svma, bytes }))
    }

    /// Where a section is, without reading it.
    pub(super) fn section_svma(&self, name: &str) -> Option<Svma> {
        self.sections.iter().find(|section| section.name == name).map(|section| section.svma)
    }

    /// `PT_GNU_EH_FRAME`'s bytes.
    pub(super) fn eh_frame_hdr(&self, source: &ModuleSource) -> Result<Option<SectionBytes>, ModuleError> {
        let Some((svma, offset, size)) = self.eh_frame_hdr else { return Ok(None) };
        Ok(Some(SectionBytes { svma, bytes: source.read_vec(offset, size)? }))
    }

    /// Everything of the segment around `svma` from there on.
    pub(super) fn rest_of_segment(
        &self,
        source: &ModuleSource,
        svma: Svma,
    ) -> Result<Option<SectionBytes>, ModuleError> {
        let Some((offset, length)) = self.segments.iter().find_map(|segment| segment.file_range(svma)) else {
            return Ok(None);
        };
        Ok(Some(SectionBytes { svma, bytes: source.read_vec(offset, length)? }))
    }

    pub(super) fn executable_file_range(&self, svma: Svma) -> Option<(u64, u64)> {
        self.segments.iter().filter(|segment| segment.executable).find_map(|segment| segment.file_range(svma))
    }

    /// The executable segment of which the page at `file_offset` is the first page, or else a page.
    pub(super) fn executable_segment_of_page(&self, file_offset: u64) -> Option<&Segment> {
        let page = |offset: u64| offset & !(arch::PAGE_SIZE - 1);
        let executable = || self.segments.iter().filter(|segment| segment.executable);
        executable().find(|segment| page(segment.file_offset) == file_offset).or_else(|| {
            executable().find(|segment| {
                let end = segment.file_offset.saturating_add(segment.file_size);
                (page(segment.file_offset)..end).contains(&file_offset)
            })
        })
    }

    pub(super) fn build_id(&self, source: &ModuleSource) -> Option<Vec<u8>> {
        let sections = self.sections.iter().filter(|section| section.kind == SHT_NOTE);
        let ranges =
            self.notes.iter().copied().chain(sections.map(|section| (section.file_offset, section.size)));
        ranges
            .filter_map(|(offset, size)| source.read_vec(offset, size).ok())
            .find_map(|notes| gnu_build_id(&notes))
    }
}

impl Segment {
    /// File offset of `svma`, and how many bytes of the segment the file has from there.
    fn file_range(&self, svma: Svma) -> Option<(u64, u64)> {
        let within = svma.0.checked_sub(self.svma.0)?;
        let length = self.file_size.checked_sub(within).filter(|&length| length > 0)?;
        Some((self.file_offset.checked_add(within)?, length))
    }
}

fn read_sections(source: &ModuleSource, header: &Fields<'_>) -> Result<Vec<Section>, ModuleError> {
    let (offset, size) = (header.u64(40)?, header.u16(58)?);
    if offset == 0 {
        return Ok(Vec::new());
    }
    if size < 64 {
        return Err(ModuleError::Malformed { what: "e_shentsize", value: size.into() });
    }
    // Counts that do not fit their fields are in the first section header.
    let first = source.read_vec(offset, size.into())?;
    let count = match header.u16(60)? {
        0 => Fields(&first).u64(32)?,
        count => count.into(),
    };
    let names_index = match header.u16(62)? {
        index if index == SHN_XINDEX => u64::from(Fields(&first).u32(40)?),
        index => index.into(),
    };
    if count > MAX_SECTIONS {
        return Err(ModuleError::Malformed { what: "e_shnum", value: count });
    }
    let headers = source.read_vec(offset, count.saturating_mul(size.into()))?;
    let headers: Vec<_> = headers.chunks_exact(size.into()).map(Fields).collect();
    let names = usize::try_from(names_index)
        .ok()
        .and_then(|index| headers.get(index))
        .ok_or(ModuleError::Malformed { what: "e_shstrndx", value: names_index })?;
    let names = source.read_vec(names.u64(24)?, names.u64(32)?)?;
    headers
        .iter()
        .map(|fields| {
            Ok(Section {
                name: string_at(&names, fields.u32(0)?),
                kind: fields.u32(4)?,
                flags: fields.u64(8)?,
                svma: Svma(fields.u64(16)?),
                file_offset: fields.u64(24)?,
                size: fields.u64(32)?,
            })
        })
        .collect()
}

fn string_at(table: &[u8], offset: u32) -> String {
    let rest = table.get(offset as usize..).unwrap_or_default();
    let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
    String::from_utf8_lossy(rest.get(..end).unwrap_or_default()).into_owned()
}

/// `Elf64_Chdr`, then the compressed bytes.
fn decompress(bytes: &[u8]) -> Result<Vec<u8>, ModuleError> {
    let fields = Fields(bytes);
    let (kind, size) = (fields.u32(0)?, fields.u64(8)?);
    let format = match kind {
        ELFCOMPRESS_ZLIB => CompressionFormat::Zlib,
        ELFCOMPRESS_ZSTD => CompressionFormat::Zstandard,
        kind => return Err(ModuleError::Malformed { what: "ch_type", value: kind.into() }),
    };
    if size > MAX_DECOMPRESSED {
        return Err(ModuleError::Malformed { what: "ch_size", value: size });
    }
    let data = bytes.get(24..).unwrap_or_default();
    match (CompressedData { format, data, uncompressed_size: size }).decompress() {
        Ok(bytes) => Ok(bytes.into_owned()),
        Err(_) => Err(ModuleError::Malformed { what: "compressed section of size", value: size }),
    }
}

/// The descriptor of the note `GNU`, `NT_GNU_BUILD_ID`, among 4-byte aligned notes.
fn gnu_build_id(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let fields = Fields(notes);
        let name_size = fields.u32(0).ok()? as usize;
        let size = fields.u32(4).ok()? as usize;
        let kind = fields.u32(8).ok()?;
        let name = notes.get(12..)?.get(..name_size)?;
        let start = 12usize.checked_add(name_size.checked_next_multiple_of(4)?)?;
        let descriptor = notes.get(start..)?.get(..size)?;
        if name == b"GNU\0" && kind == NT_GNU_BUILD_ID && !descriptor.is_empty() {
            return Some(descriptor.to_vec());
        }
        notes = notes.get(start.checked_add(size.checked_next_multiple_of(4)?)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(file_offset: u64, file_size: u64, svma: u64, executable: bool) -> Segment {
        Segment { file_offset, file_size, svma: Svma(svma), memory_size: file_size, executable }
    }

    #[test]
    fn a_page_that_two_segments_share_belongs_to_the_executable_one() {
        // As rust-lld lays out: the read-only segment ends, and the executable one begins, in the page at 0x1000.
        let segments = vec![segment(0, 0x1234, 0, false), segment(0x1234, 0x3000, 0x2234, true)];
        let elf =
            Elf { segments, entry: Svma(0), sections: Vec::new(), notes: Vec::new(), eh_frame_hdr: None };
        assert_eq!(elf.executable_segment_of_page(0x1000).map(|one| one.svma), Some(Svma(0x2234)));
        assert_eq!(elf.executable_segment_of_page(0x2000).map(|one| one.svma), Some(Svma(0x2234)));
        assert_eq!(elf.executable_segment_of_page(0x5000), None);
    }

    #[test]
    fn the_build_id_is_found_behind_other_notes() {
        let mut notes = Vec::new();
        for (kind, name, descriptor) in [(1u32, &b"GNU\0"[..], &[9; 16][..]), (3, b"GNU\0", &[1, 2, 3, 4, 5])]
        {
            notes.extend((name.len() as u32).to_le_bytes());
            notes.extend((descriptor.len() as u32).to_le_bytes());
            notes.extend(kind.to_le_bytes());
            notes.extend(name);
            notes.extend(descriptor);
        }
        assert_eq!(gnu_build_id(&notes), Some(vec![1, 2, 3, 4, 5]));
        assert_eq!(gnu_build_id(&notes[..notes.len() - 1]), None);
        assert_eq!(gnu_build_id(&[0xff; 64]), None);
    }
}

//! ELF files that targets have mapped: opened once, read piece by piece, shared by build id.
//!
//! Files are read with `pread`, never mapped: a file that its owner truncates under us would kill us with
//! SIGBUS, and then the profiler is the one that broke.

mod elf;
mod error;
mod source;
mod store;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::arch::{self, FrameDepth, ReturnRule};
use crate::cfi::CfiTable;
use crate::{ModuleId, Svma};

pub use elf::Segment;
pub use error::ModuleError;
pub use source::ModuleSource;
pub use store::{ContentKey, ModuleFile, ModuleStore};

use elf::Elf;

/// Longest function whose code is decoded for its frame depth; CPython's evaluation loop has about 60 KiB.
const LONGEST_DECODED_FUNCTION: u64 = 256 << 10;
/// Code looked at on either side of an address without call frame information; OpenBLAS' longest function of that kind
/// has 56 KiB.
const CODE_BEFORE: u64 = 64 << 10;
const CODE_AFTER: usize = 128 << 10;
/// Most addresses whose [`ReturnRule`]s are kept.
const MAX_RETURN_RULES: usize = 1 << 16;
/// Longest code of an entry point that has no call frame information: that of ld.so has 61 bytes.
const LONGEST_ENTRY: u64 = 64;

/// A section's bytes, decompressed where the file holds them compressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionBytes {
    /// Address of the first byte; zero for sections that are not loaded.
    pub svma: Svma,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A mapped ELF file. All methods may be called from several threads.
#[derive(Debug)]
pub struct Module {
    id: ModuleId,
    path: String,
    debug_root: Option<PathBuf>,
    source: ModuleSource,
    elf: Elf,
    build_id: Option<Vec<u8>>,
    table: OnceLock<CfiTable>,
    /// `rbp - rsp` by lookup address: from the code, or learned. `None`: the code does not tell.
    frame_depths: Mutex<FxHashMap<Svma, Option<i64>>>,
    /// How code without call frame information returns, by instruction pointer; no rule: not found out.
    return_rules: Mutex<FxHashMap<Svma, Arc<[ReturnRule]>>>,
}

impl Module {
    fn open(id: ModuleId, file: ModuleFile) -> Result<Self, ModuleError> {
        let elf = Elf::read(&file.source)?;
        let build_id = elf.build_id(&file.source);
        Ok(Module {
            id,
            path: file.path,
            debug_root: file.debug_root,
            source: file.source,
            elf,
            build_id,
            table: OnceLock::new(),
            frame_depths: Mutex::default(),
            return_rules: Mutex::default(),
        })
    }

    /// Its place in the [`ModuleStore`].
    pub fn id(&self) -> ModuleId {
        self.id
    }

    /// The path as the target sees it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where the target's root directory can be reached, when that is not our own.
    pub fn debug_root(&self) -> Option<&Path> {
        self.debug_root.as_deref()
    }

    /// The bytes of the `NT_GNU_BUILD_ID` note.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.build_id.as_deref()
    }

    /// The loadable segments, in file order.
    pub fn segments(&self) -> &[Segment] {
        &self.elf.segments
    }

    /// The bytes of the first section with this name; `Ok(None)` when the file has none, or keeps none of its
    /// bytes (`SHT_NOBITS`). Each call reads the file anew: keep what you need.
    pub fn section(&self, name: &str) -> Result<Option<SectionBytes>, ModuleError> {
        self.elf.section(&self.source, name)
    }

    /// Where a section lies, without reading it.
    pub fn section_svma(&self, name: &str) -> Option<Svma> {
        self.elf.section_svma(name)
    }

    /// The bytes of `PT_GNU_EH_FRAME`, which also files without section headers have.
    pub(crate) fn eh_frame_hdr(&self) -> Option<SectionBytes> {
        self.elf.eh_frame_hdr(&self.source).ok().flatten()
    }

    /// The bytes from `svma` to the end of its segment.
    pub(crate) fn rest_of_segment(&self, svma: Svma) -> Option<SectionBytes> {
        self.elf.rest_of_segment(&self.source, svma).ok().flatten()
    }

    /// The content, for readers that parse the file themselves.
    pub fn content(&self) -> Option<ModuleSource> {
        self.source.try_clone().ok()
    }

    /// What to add to an SVMA of this module to get the AVMA, when `file_offset` of the file is mapped
    /// executable at `start`.
    ///
    /// Only executable segments are looked at: linkers such as rust-lld let the last page of the read-only
    /// segment and the first page of the executable one be the same page of the file, so that a file offset
    /// alone does not tell the segment.
    pub fn bias(&self, start: crate::Avma, file_offset: u64) -> Option<u64> {
        let segment = self.elf.executable_segment_of_page(file_offset)?;
        let page_svma = segment.svma.0.wrapping_add(file_offset.wrapping_sub(segment.file_offset));
        Some(start.0.wrapping_sub(page_svma))
    }

    /// Code bytes from `svma` on, as many as the executable segment has; returns how many were filled.
    pub(crate) fn read_code(&self, svma: Svma, into: &mut [u8]) -> usize {
        let Some((offset, available)) = self.elf.executable_file_range(svma) else { return 0 };
        let length = into.len().min(usize::try_from(available).unwrap_or(usize::MAX));
        match into.get_mut(..length).map(|part| self.source.read_at(offset, part)) {
            Some(Ok(())) => length,
            _ => 0,
        }
    }

    /// The compiled call frame information, compiled on first use.
    pub(crate) fn cfi(&self) -> &CfiTable {
        self.table.get_or_init(|| CfiTable::of_module(self))
    }

    /// How many functions' call frame information could not be decoded. Compiles it, if that was not yet done.
    pub fn broken_cfi_entries(&self) -> u32 {
        self.cfi().broken_entries
    }

    /// `rbp - rsp` at an address, if the function's code makes it a constant or it has been learned.
    pub(crate) fn frame_depth(&self, function_start: Svma, lookup: Svma) -> Option<i64> {
        let mut depths = self.frame_depths.lock().unwrap_or_else(PoisonError::into_inner);
        *depths.entry(lookup).or_insert_with(|| self.decode_frame_depth(function_start, lookup))
    }

    /// Remembers `rbp - rsp` at the place `address` (of this module), as seen in a stopped thread, for functions
    /// whose code does not tell it.
    pub fn learn_frame_depth(&self, lookup: Svma, rbp_minus_rsp: i64) {
        let mut depths = self.frame_depths.lock().unwrap_or_else(PoisonError::into_inner);
        depths.insert(lookup, Some(rbp_minus_rsp));
    }

    /// How the code at an instruction pointer that no call frame information covers may return, likeliest first.
    pub(crate) fn return_rules(&self, ip: Svma) -> Arc<[ReturnRule]> {
        let mut known = self.return_rules.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_RETURN_RULES {
            known.clear();
        }
        known.entry(ip).or_insert_with(|| self.search_return_rules(ip).into()).clone()
    }

    fn search_return_rules(&self, ip: Svma) -> Vec<ReturnRule> {
        let around = self.elf.segments.iter().find(|segment| {
            let end = segment.svma.0.saturating_add(segment.file_size);
            segment.executable && (segment.svma.0..end).contains(&ip.0)
        });
        let Some(segment) = around else { return Vec::new() };
        let start = Svma(ip.0.saturating_sub(CODE_BEFORE).max(segment.svma.0));
        let before = usize::try_from(ip.0.saturating_sub(start.0)).unwrap_or_default();
        let mut code = vec![0; before.saturating_add(CODE_AFTER)];
        let filled = self.read_code(start, &mut code);
        code.truncate(filled);
        arch::return_rules(&code, start, ip)
    }

    /// Whether an address that no call frame information covers is in the code that the kernel starts the program
    /// or its loader with.
    pub(crate) fn is_in_entry(&self, svma: Svma) -> bool {
        let entry = self.elf.entry;
        let within = svma.0.checked_sub(entry.0).is_some_and(|offset| offset < LONGEST_ENTRY);
        if entry == Svma(0) || !within || self.cfi().has_function_start_between(entry, svma) {
            return false;
        }
        let mut code = [0; LONGEST_ENTRY as usize];
        let filled = self.read_code(entry, &mut code);
        code.get(..filled).is_some_and(arch::is_program_entry)
    }

    fn decode_frame_depth(&self, function_start: Svma, lookup: Svma) -> Option<i64> {
        let end = self.cfi().function_end(function_start)?;
        let length = end.0.checked_sub(function_start.0)?.min(LONGEST_DECODED_FUNCTION);
        let mut code = vec![0; usize::try_from(length).ok()?];
        let filled = self.read_code(function_start, &mut code);
        code.truncate(filled);
        match arch::frame_depth(&code, function_start, lookup) {
            FrameDepth::Constant(bytes) => Some(bytes),
            FrameDepth::Unknown => None,
        }
    }
}

//! What code a process has mapped: `/proc/PID/maps` into modules, files read as the target sees them.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};
use stackclock_unwinder::native::{ContentKey, Mapped, Mapping, ModuleFile, ModuleSource, ModuleStore};
use stackclock_unwinder::{Avma, Memory};

use crate::memory::LiveMemory;

/// The vDSO is a few pages; anything larger is not one.
const MOST_VDSO_BYTES: u64 = 1 << 20;

/// The executable mappings of a process as they were last read.
#[derive(Debug, Default)]
pub struct Maps {
    known: Vec<(MemoryMap, Mapping)>,
}

impl Maps {
    /// Reads the mappings, and loads the ELF files of those that were not there before into `store`. `None` when
    /// nothing has changed.
    ///
    /// A file that cannot be opened any more leaves an anonymous mapping: its code is shown by address.
    pub fn read(
        &mut self,
        pid: u32,
        memory: &LiveMemory,
        store: &ModuleStore,
    ) -> io::Result<Option<Vec<Mapping>>> {
        let maps = Process::new(pid as i32).and_then(|process| process.maps()).map_err(io::Error::other)?;
        let before = std::mem::take(&mut self.known);
        let executable = maps.into_iter().filter(|map| map.perms.contains(MMPermissions::EXECUTE));
        self.known = executable
            .filter_map(|map| {
                let same = before.iter().find(|(known, _)| *known == map).map(|&(_, mapping)| mapping);
                let mapping = same.or_else(|| new_mapping(pid, memory, store, &map))?;
                Some((map, mapping))
            })
            .collect();
        let changed = self.known != before;
        Ok(changed.then(|| self.known.iter().map(|&(_, mapping)| mapping).collect()))
    }
}

fn new_mapping(pid: u32, memory: &LiveMemory, store: &ModuleStore, map: &MemoryMap) -> Option<Mapping> {
    let (start, end) = map.address;
    let module = match &map.pathname {
        MMapPath::Path(path) => module_file(pid, map, path),
        MMapPath::Vdso => vdso(memory, start, end),
        // Fixed kernel code that user addresses cannot be read from; time functions of ancient programs.
        MMapPath::Vsyscall => return None,
        _ => None,
    };
    let mapped = match module.and_then(|file| store.load(file).ok()) {
        Some(module) => Mapped::Module(module),
        None => Mapped::AnonymousExecutable,
    };
    Some(Mapping { start: Avma(start), end: Avma(end), file_offset: map.offset, mapped })
}

fn module_file(pid: u32, map: &MemoryMap, path: &Path) -> Option<ModuleFile> {
    let file = open_mapped(pid, map, path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    let path = path.to_string_lossy();
    Some(ModuleFile {
        path: path.strip_suffix(" (deleted)").unwrap_or(&path).to_owned(),
        key: content_key(&metadata),
        source: ModuleSource::File(file),
        debug_root: Some(PathBuf::from(format!("/proc/{pid}/root"))),
    })
}

/// Tells files apart that have no build id. Inode numbers are given again soon after a file is deleted, so its last
/// change counts too.
fn content_key(metadata: &Metadata) -> ContentKey {
    let changed_ns =
        (metadata.ctime() as u64).wrapping_mul(1_000_000_000).wrapping_add(metadata.ctime_nsec() as u64);
    ContentKey(metadata.dev().rotate_left(32) ^ metadata.ino(), changed_ns)
}

/// Opens the very file that is mapped: by the mapping itself where we may (it may have been deleted or replaced
/// since), else by its path as the target sees it, if it is still the same file.
fn open_mapped(pid: u32, map: &MemoryMap, path: &Path) -> io::Result<File> {
    let (start, end) = map.address;
    if let Ok(file) = File::open(format!("/proc/{pid}/map_files/{start:x}-{end:x}")) {
        return Ok(file);
    }
    let inside =
        Path::new("/proc").join(pid.to_string()).join("root").join(path.strip_prefix("/").unwrap_or(path));
    let same = |file: &File| file.metadata().is_ok_and(|metadata| metadata.ino() == map.inode);
    let candidates = [inside, path.to_owned()];
    let opened = candidates.iter().filter_map(|path| File::open(path).ok()).find(same);
    opened.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn vdso(memory: &LiveMemory, start: u64, end: u64) -> Option<ModuleFile> {
    let length = end.checked_sub(start).filter(|&length| length <= MOST_VDSO_BYTES)?;
    let mut bytes = vec![0; length as usize];
    memory.read(Avma(start), &mut bytes).ok()?;
    Some(ModuleFile {
        path: "[vdso]".to_owned(),
        // No file has inode 0; all processes have the same vDSO.
        key: ContentKey(0, 0),
        source: ModuleSource::Bytes(bytes),
        debug_root: None,
    })
}

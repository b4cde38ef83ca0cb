//! Debug information that lies beside a stripped module, in a file of its own.
//!
//! Two links lead to it, see "Debugging Information in Separate Files" of the GDB manual:
//!
//! ```text
//!   build id  abcdef...            /usr/lib/debug/.build-id/ab/cdef....debug
//!   .gnu_debuglink  libx.debug     DIR/libx.debug, DIR/.debug/libx.debug, /usr/lib/debug/DIR/libx.debug
//! ```
//!
//! each under the target's root first, then under ours. A file is taken only when it proves to belong to the
//! module: by an equal build id, or by the checksum that the link states.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use object::Object;
use object::read::ReadRef;

use super::elf_file::{self, Elf, FileBytes};

const DEBUG_DIRECTORY: &str = "/usr/lib/debug";

/// Where a module's separate files are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchPlace<'a> {
    /// The root directory of the target, as `/proc/PID/root`.
    pub(super) target_root: &'a Path,
    /// The module's path as the target sees it.
    pub(super) module_path: &'a Path,
}

impl SearchPlace<'_> {
    /// A path of the target, under the target's root and under ours.
    fn under_roots(&self, path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
        let relative: PathBuf =
            path.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        [self.target_root.join(&relative), Path::new("/").join(&relative)].into_iter()
    }
}

/// The separate file with the debug information of `elf`.
pub(super) fn find_debug_file<'data, R: ReadRef<'data>>(
    elf: &Elf<'data, R>,
    place: SearchPlace<'_>,
) -> Option<FileBytes> {
    let build_id = elf.build_id().ok().flatten();
    build_id
        .and_then(|build_id| by_build_id(build_id, place))
        .or_else(|| elf.gnu_debuglink().ok().flatten().and_then(|(name, crc)| by_link(name, crc, place)))
}

/// The file shared by several debug files, in which `dwz` put what they have in common. A relative link counts
/// from the directory of the file that has it: the module's own, or that of the build ids.
pub(super) fn find_supplementary_file<'data, R: ReadRef<'data>>(
    debug: &Elf<'data, R>,
    place: SearchPlace<'_>,
) -> Option<FileBytes> {
    let (name, build_id) = debug.gnu_debugaltlink().ok().flatten()?;
    let name = Path::new(std::str::from_utf8(name).ok()?);
    let debug_path = build_id_path(debug.build_id().ok().flatten().unwrap_or_default());
    [Some(place.module_path), debug_path.as_deref()]
        .into_iter()
        .flatten()
        .filter_map(|path| Some(normalized(&path.parent()?.join(name))))
        .flat_map(|path| place.under_roots(&path))
        .find_map(|path| open_with_build_id(&path, build_id))
        .or_else(|| by_build_id(build_id, place))
}

/// `/usr/lib/debug/.build-id/ab/cdef....debug`
fn build_id_path(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(Path::new(DEBUG_DIRECTORY).join(format!(".build-id/{first:02x}/{rest}.debug")))
}

fn by_build_id(build_id: &[u8], place: SearchPlace<'_>) -> Option<FileBytes> {
    let path = build_id_path(build_id)?;
    place.under_roots(&path).find_map(|path| open_with_build_id(&path, build_id))
}

fn open_with_build_id(path: &Path, build_id: &[u8]) -> Option<FileBytes> {
    let bytes = elf_file::file_bytes(elf_file::open(path)?);
    let found = Elf::parse(&bytes).ok()?.build_id().ok().flatten()? == build_id;
    found.then_some(bytes)
}

fn by_link(name: &[u8], crc: u32, place: SearchPlace<'_>) -> Option<FileBytes> {
    let name = Path::new(std::str::from_utf8(name).ok()?).file_name()?;
    let directory = place.module_path.parent()?;
    let in_debug_directory =
        Path::new(DEBUG_DIRECTORY).join(directory.strip_prefix("/").unwrap_or(directory));
    [directory.join(name), directory.join(".debug").join(name), in_debug_directory.join(name)]
        .iter()
        .flat_map(|path| place.under_roots(path))
        .find_map(|path| {
            let file = elf_file::open(&path)?;
            (crc32(&file)? == crc).then(|| elf_file::file_bytes(file))
        })
}

/// The checksum of a whole file as `.gnu_debuglink` states it (CRC-32 of ISO 3309, as in zlib).
fn crc32(mut file: &File) -> Option<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Some(hasher.finalize()),
            Ok(length) => hasher.update(buffer.get(..length)?),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Resolves `..` by name; the path is looked up under several roots, where it may not exist.
fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

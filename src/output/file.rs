//! A file that gets its name only when it is whole.
//!
//! It is created without a name (`O_TMPFILE`, open(2)), so that nothing is left behind if we are killed at any
//! moment, then linked beside its destination and renamed over it. File systems that cannot do this (NFS,
//! FAT) get a hidden name from the beginning.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};
use nix::unistd::linkat;

/// What to do with a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Put ours in its place.
    Replace,
    /// Take another name: a number goes before this ending.
    Keep {
        /// As `speedscope.json`, without its first dot.
        ending: &'static str,
    },
}

/// Readable and writable for all whom the umask does not forbid, as for any file a program creates.
const MODE: u32 = 0o666;

/// A file being written.
#[derive(Debug)]
pub struct PendingFile {
    file: File,
    destination: PathBuf,
    stage: Stage,
}

/// Where the content is while it is being written.
#[derive(Debug)]
enum Stage {
    /// In a file without a name.
    Nameless(Existing),
    /// In a file of this hidden name, which we must remove.
    Hidden(PathBuf, Existing),
    /// In the destination itself: a device or a pipe cannot be replaced.
    InPlace,
}

impl PendingFile {
    /// Opens a file in the folder of `path`, after checking that `path` can become it.
    pub fn open(path: &Path, existing: Existing) -> io::Result<PendingFile> {
        // A link stays a link: what it points to is replaced. One that points nowhere is replaced itself.
        let destination = match fs::canonicalize(path) {
            Ok(real) if existing == Existing::Replace => real,
            _ => path.to_owned(),
        };
        if let (Existing::Replace, Ok(metadata)) = (existing, fs::metadata(&destination)) {
            // Also the check for files that are there: a folder fails here, and so does a file that is
            // read-only, although a rename could replace it.
            let file = OpenOptions::new().write(true).open(&destination)?;
            if !metadata.is_file() {
                return Ok(PendingFile { file, destination, stage: Stage::InPlace });
            }
        }
        let folder = folder_of(&destination);
        match create_nameless(folder) {
            Ok(file) => Ok(PendingFile { file, destination, stage: Stage::Nameless(existing) }),
            Err(error) if can_only_create_named(&error) => {
                let (file, hidden) = create_hidden(folder)?;
                Ok(PendingFile { file, destination, stage: Stage::Hidden(hidden, existing) })
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the file its name, which is returned.
    pub fn publish(self) -> io::Result<PathBuf> {
        let existing = match &self.stage {
            Stage::InPlace => return Ok(self.destination.clone()),
            Stage::Nameless(existing) | Stage::Hidden(_, existing) => *existing,
        };
        let named = match &self.stage {
            Stage::Hidden(hidden, _) => hidden.clone(),
            _ => name_nameless(&self.file, folder_of(&self.destination))?,
        };
        let renamed = match existing {
            Existing::Replace => Ok(self.destination.clone()),
            Existing::Keep { ending } => reserve_free_name(&self.destination, ending),
        }
        .and_then(|destination| fs::rename(&named, &destination).map(|()| destination));
        if renamed.is_err() {
            remove_quietly(&named);
        }
        renamed
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let Stage::Hidden(hidden, _) = &self.stage {
            remove_quietly(hidden);
        }
    }
}

/// The folder that holds `path`.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn create_nameless(folder: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).mode(MODE).custom_flags(OFlag::O_TMPFILE.bits()).open(folder)
}

/// open(2) names these answers of file systems without `O_TMPFILE`. A folder that is missing says `ENOENT`,
/// which is an error of the user's.
fn can_only_create_named(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput
    )
}

fn create_hidden(folder: &Path) -> io::Result<(File, PathBuf)> {
    let path = hidden_name(folder);
    let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&path)?;
    Ok((file, path))
}

fn name_nameless(file: &File, folder: &Path) -> io::Result<PathBuf> {
    let by_descriptor = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let path = hidden_name(folder);
    linkat(AT_FDCWD, &by_descriptor, AT_FDCWD, &path, AtFlags::AT_SYMLINK_FOLLOW)?;
    Ok(path)
}

/// A name of our own: the process id is ours alone, and the number is used once in it.
fn hidden_name(folder: &Path) -> PathBuf {
    static USED: AtomicU32 = AtomicU32::new(0);
    let number = USED.fetch_add(1, Ordering::Relaxed);
    folder.join(format!(".stackclock-{}-{number}.partial", std::process::id()))
}

/// Creates an empty file at the first of `name.ending`, `name-2.ending`, `name-3.ending`... that is free.
fn reserve_free_name(wanted: &Path, ending: &str) -> io::Result<PathBuf> {
    const MOST: u32 = 10_000;
    let name = wanted.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(ending).unwrap_or(&name).trim_end_matches('.');
    for number in 1..=MOST {
        let candidate = match number {
            1 => wanted.to_owned(),
            _ => wanted.with_file_name(format!("{stem}-{number}.{ending}")),
        };
        match OpenOptions::new().write(true).create_new(true).mode(MODE).open(&candidate) {
            Ok(_) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes a file that may be gone already; there is nobody to tell if it cannot be removed.
fn remove_quietly(path: &Path) {
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn an_abandoned_file_leaves_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svg");
        fs::write(&path, "old").unwrap();
        let mut pending = PendingFile::open(&path, Existing::Replace).unwrap();
        pending.write_all(b"half").unwrap();
        drop(pending);
        assert_eq!(names_in(folder.path()), ["a.svg"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }

    #[test]
    fn a_published_file_replaces_what_the_user_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svg");
        fs::write(&path, "old").unwrap();
        let mut pending = PendingFile::open(&path, Existing::Replace).unwrap();
        pending.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        pending.publish().unwrap();
        assert_eq!(names_in(folder.path()), ["a.svg"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_chosen_name_never_replaces_anything() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python3.11.speedscope.json");
        let keep = Existing::Keep { ending: "speedscope.json" };
        let publish = || PendingFile::open(&path, keep).unwrap().publish().unwrap();
        assert_eq!(publish(), path);
        assert_eq!(publish(), folder.path().join("python3.11-2.speedscope.json"));
        assert_eq!(publish(), folder.path().join("python3.11-3.speedscope.json"));
        assert_eq!(names_in(folder.path()).len(), 3);
    }

    #[test]
    fn a_link_stays_and_its_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real.svg"), folder.path().join("link.svg"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut pending = PendingFile::open(&link, Existing::Replace).unwrap();
        pending.write_all(b"new").unwrap();
        pending.publish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn a_folder_without_nameless_files_is_served_by_hidden_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.svg");
        let (file, hidden) = create_hidden(folder.path()).unwrap();
        let stage = Stage::Hidden(hidden, Existing::Replace);
        let mut pending = PendingFile { file, destination: path.clone(), stage };
        pending.write_all(b"new").unwrap();
        pending.publish().unwrap();
        assert_eq!(names_in(folder.path()), ["a.svg"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_device_is_written_in_place() {
        let mut pending = PendingFile::open(Path::new("/dev/null"), Existing::Replace).unwrap();
        pending.write_all(b"new").unwrap();
        assert_eq!(pending.publish().unwrap(), Path::new("/dev/null"));
    }

    #[test]
    fn what_cannot_be_written_fails_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: &Path| PendingFile::open(path, Existing::Replace).unwrap_err().kind();
        assert_eq!(kind(&folder.path().join("missing/a.svg")), io::ErrorKind::NotFound);
        assert_eq!(kind(folder.path()), io::ErrorKind::IsADirectory);
    }
}

//! The CPythons of this machine: pyenv's, the system's, and those in chroots that `scripts/pythons.sh` makes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An interpreter that is installed here.
#[derive(Clone, Debug)]
pub struct Python {
    /// As seen from `root`.
    pub path: PathBuf,
    /// The root directory that it runs in, if that is not ours.
    pub root: Option<PathBuf>,
    pub version: (u8, u8, u8),
}

/// The minor versions that the tests want to see.
pub const WANTED: std::ops::RangeInclusive<u8> = 6..=15;

/// All interpreters from 3.6 on, by version. Prints which of the wanted ones are missing, so that a version that
/// was not tested is seen.
pub fn pythons() -> Vec<Python> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let installed = std::fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let paths =
        installed.map(|entry| entry.path().join("bin/python")).chain([PathBuf::from("/usr/bin/python3")]);
    let mut pythons: Vec<Python> =
        paths.filter_map(|path| identify(&path, None)).chain(in_chroots()).collect();
    pythons.sort_by_key(|python| python.version);
    for minor in WANTED {
        let found: Vec<_> = pythons.iter().filter(|python| python.version.1 == minor).collect();
        match found.is_empty() {
            true => println!("python 3.{minor:<3} NOT INSTALLED, NOT TESTED"),
            false => found.iter().for_each(|found| println!("python 3.{minor:<3} {}", found.path.display())),
        }
    }
    assert!(!pythons.is_empty(), "no Python 3.6 or later on this machine");
    pythons
}

/// Those of the chroots below `target/pythons`.
fn in_chroots() -> Vec<Python> {
    let chroots = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/pythons");
    let roots = std::fs::read_dir(chroots).into_iter().flatten().flatten().map(|entry| entry.path());
    let pythons = roots.flat_map(|root| {
        WANTED.filter_map(move |minor| identify(Path::new(&format!("/usr/bin/python3.{minor}")), Some(&root)))
    });
    pythons.collect()
}

impl Python {
    /// A command that runs `tests/python/targets/SCRIPT`, of which a chroot is given a copy.
    pub fn runs(&self, script: &str) -> Command {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/targets").join(script);
        let mut command = command(&self.path, self.root.as_deref());
        match &self.root {
            None => command.arg(source),
            Some(root) => {
                std::fs::copy(&source, root.join("srv").join(script)).expect("the chroot can be written");
                command.arg(Path::new("/srv").join(script))
            }
        };
        command
    }
}

/// A command that runs `path`, inside `root` if there is one.
fn command(path: &Path, root: Option<&Path>) -> Command {
    let Some(root) = root else { return Command::new(path) };
    let mut command = Command::new("chroot");
    command.arg(root).arg(path);
    command
}

/// The version of the interpreter at `path`, which must say it itself.
fn identify(path: &Path, root: Option<&Path>) -> Option<Python> {
    let output =
        command(path, root).args(["-c", "import sys; print(*sys.version_info[:3])"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let numbers: Vec<u8> = text.split_whitespace().map_while(|number| number.parse().ok()).collect();
    let &[3, minor @ 6..=u8::MAX, patch] = numbers.as_slice() else { return None };
    Some(Python { path: path.to_owned(), root: root.map(Path::to_owned), version: (3, minor, patch) })
}

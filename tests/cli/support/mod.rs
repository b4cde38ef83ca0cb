//! What the tests of the command line share: running the real binary and reading what it says.

pub mod target;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The binary under test, with nothing of our own terminal or input in its environment.
pub fn stackclock() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackclock"));
    command.env_remove("COLUMNS").stdin(Stdio::null());
    command
}

/// Runs the binary with these arguments to its end.
pub fn run(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
    stackclock().args(arguments).output().expect("the binary under test starts")
}

/// Standard error as text.
pub fn stderr_of(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("standard error is UTF-8")
}

/// Checks the form of a failure (nothing on standard output, exactly the lines `error:`, `cause:`, `help:`, the
/// exit status) and returns the three lines.
#[track_caller]
pub fn assert_three_lines(output: &Output, status: i32) -> [String; 3] {
    let stderr = stderr_of(output);
    assert_eq!(output.status.code(), Some(status), "exit status with\n{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "standard output");
    let lines: Vec<&str> = stderr.lines().collect();
    let [error, cause, help] = lines[..] else { panic!("not three lines:\n{stderr}") };
    for (line, label) in [(error, "error: "), (cause, "cause: "), (help, "help: ")] {
        let text = line.strip_prefix(label).unwrap_or_else(|| panic!("no {label:?} in {line:?}"));
        assert!(!text.trim().is_empty(), "nothing after {label:?}");
        assert!(!text.contains("panicked"), "{line}");
    }
    [error, cause, help].map(str::to_owned)
}

/// Checks that nothing was written: the names in a folder are those that were there before.
#[track_caller]
pub fn assert_names_in(folder: &Path, names: &[&str]) {
    assert_eq!(names_in(folder), names, "files in the output's folder");
}

/// The names in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("its entries too").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Compares with the file `tests/golden/NAME`; `STACKCLOCK_BLESS=1` writes it instead.
#[track_caller]
pub fn assert_golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("STACKCLOCK_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, actual).expect("the golden file can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; STACKCLOCK_BLESS=1 writes it", path.display()));
    if actual != expected {
        panic!("{} differs; STACKCLOCK_BLESS=1 rewrites it. Now it is:\n{actual}", path.display());
    }
}

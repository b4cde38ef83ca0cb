//! A refused target leaves the outputs that were asked for as they were. Which targets are refused, and how, is
//! in the end-to-end tests (`tests/e2e/refusals.rs`).

use std::fs;
use std::process::Command;

use crate::support::target::Target;
use crate::support::{assert_names_in, assert_three_lines, stackclock};

/// Beyond the kernel's largest process id, 2^22 (`PID_MAX_LIMIT`, include/linux/threads.h).
const NO_PID: u32 = (1 << 22) + 1;

#[test]
fn a_refused_target_leaves_existing_files_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("old.folded"), "old 1\n").expect("a file");
    let output = stackclock()
        .args(["record", "-d", "1", "-o", "new.svg", "-o", "old.folded", "-p", &NO_PID.to_string()])
        .current_dir(&folder)
        .output()
        .expect("it runs");
    let [error, ..] = assert_three_lines(&output, 3);
    assert_eq!(error, format!("error: no process {NO_PID}"));
    assert_names_in(folder.path(), &["old.folded"]);
    assert_eq!(fs::read_to_string(folder.path().join("old.folded")).expect("it is there"), "old 1\n");
}

#[test]
fn one_missing_process_among_others_is_enough() {
    let target = Target::busy();
    let folder = tempfile::tempdir().expect("a folder");
    let pids = [target.pid().to_string(), NO_PID.to_string()];
    let output = stackclock()
        .args(["record", "-d", "1", "-o", "new.svg", "-p", &pids[0], "-p", &pids[1]])
        .current_dir(&folder)
        .output()
        .expect("it runs");
    assert_three_lines(&output, 3);
    assert_names_in(folder.path(), &[]);
}

#[test]
fn the_profiler_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = r#"exec "$0" record -d 1 -o new.svg -p $$"#;
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_stackclock")])
        .current_dir(&folder)
        .output()
        .expect("it runs");
    let [error, ..] = assert_three_lines(&output, 1);
    assert!(error.contains("itself"), "{error}");
    assert_names_in(folder.path(), &[]);
}

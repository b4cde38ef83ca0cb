//! Where results go: outputs that cannot be written are found before sampling, names that we choose never replace
//! anything, and a recording in which nothing is shown leaves valid, empty files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use regex::Regex;

use crate::support::target::Target;
use crate::support::{assert_names_in, assert_three_lines, names_in, stackclock, stderr_of};

fn record(folder: &Path, pid: u32, options: &str) -> Output {
    let mut command = stackclock();
    command.args(["record", "-p", &pid.to_string()]).args(options.split_whitespace());
    command.current_dir(folder).output().expect("it runs")
}

#[test]
fn an_output_in_a_missing_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = record(folder.path(), std::process::id(), "-o first.svg -o missing/second.svg");
    let [error, _, help] = assert_three_lines(&output, 1);
    assert_eq!(error, "error: cannot write 'missing/second.svg'");
    assert_eq!(help, "help: mkdir -p missing");
    assert_names_in(folder.path(), &[]);
}

#[test]
fn an_output_that_is_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("sub.svg")).expect("a folder");
    assert_three_lines(&record(folder.path(), std::process::id(), "-o sub.svg"), 1);
    assert_names_in(folder.path(), &["sub.svg"]);
}

#[test]
fn an_output_where_nobody_can_write() {
    let folder = tempfile::tempdir().expect("a folder");
    // procfs has no new files, whoever asks.
    let output = record(folder.path(), std::process::id(), "-o /proc/self/profile.svg");
    let [error, ..] = assert_three_lines(&output, 1);
    assert_eq!(error, "error: cannot write '/proc/self/profile.svg'");
}

#[test]
fn an_output_is_replaced_when_the_recording_is_whole() {
    let target = Target::busy();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.folded");
    fs::write(&file, "old").expect("a file");
    let output = record(folder.path(), target.pid(), "-d 0.3 -o a.folded");
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    assert!(fs::read_to_string(&file).expect("it is there").contains("sh"), "the folded stacks of a shell");
    assert_names_in(folder.path(), &["a.folded"]);
    let mode = fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o600, 0o600, "its owner can read and write it");
}

#[test]
fn names_that_we_choose_are_new() {
    let target = Target::busy();
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..2 {
        let output = record(folder.path(), target.pid(), "-d 0.1 -f folded");
        assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    }
    let names = names_in(folder.path());
    let pattern = format!(r"^{}-\d{{8}}T\d{{6}}Z(-2)?\.folded$", target.pid());
    let pattern = Regex::new(&pattern).expect("a pattern");
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| pattern.is_match(name)), "{names:?}");
}

#[test]
fn a_recording_that_shows_nothing_leaves_valid_empty_files() {
    let target = Target::sleeping();
    let folder = tempfile::tempdir().expect("a folder");
    let output = record(folder.path(), target.pid(), "-d 0.3 -o a.svg -o a.folded -o a.json");
    let stderr = stderr_of(&output);
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("\nerror: ") && stderr.contains("--idle"), "{stderr}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("it is there");
    assert_eq!(read("a.folded"), "");
    assert!(read("a.svg").trim_end().ends_with("</svg>"), "the SVG is whole");
    let json: serde_json::Value = serde_json::from_str(&read("a.json")).expect("JSON");
    assert!(json["shared"]["frames"].is_array(), "{json}");
}

#[test]
fn the_final_block_says_what_was_written_and_how_to_look_at_it() {
    let target = Target::busy();
    let folder = tempfile::tempdir().expect("a folder");
    let output = record(folder.path(), target.pid(), "-d 0.3 -o a.svg -o a.json");
    assert!(output.stdout.is_empty());
    let stderr = stderr_of(&output);
    for part in
        ["recorded ", "ticks ", "samples ", "paused ", "on CPU", "a.svg  (xdg-open a.svg)", "a.json  ("]
    {
        assert!(stderr.contains(part), "no {part:?} in\n{stderr}");
    }
}

//! `record -- COMMAND`: which exit status is whose.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{assert_names_in, assert_three_lines, stackclock, stderr_of};

fn launch(folder: &Path, options: &str, command: &[&str]) -> Output {
    let mut recorder = stackclock();
    recorder.arg("record").args(options.split_whitespace()).arg("--").args(command);
    recorder.current_dir(folder).output().expect("it runs")
}

#[test]
fn our_own_failures_before_the_start_are_told_from_the_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = launch(folder.path(), "-o missing/a.svg", &["touch", "started"]);
    assert_three_lines(&output, 125);
    assert_names_in(folder.path(), &[]);
}

#[test]
fn a_command_that_does_not_exist() {
    let folder = tempfile::tempdir().expect("a folder");
    let [error, ..] = assert_three_lines(&launch(folder.path(), "-o a.svg", &["no-such-command"]), 127);
    assert_eq!(error, "error: cannot run no-such-command");
    assert_names_in(folder.path(), &[]);
}

#[test]
fn a_command_that_cannot_be_run() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data"), "no program").expect("a file");
    assert_three_lines(&launch(folder.path(), "-o a.svg", &["./data"]), 126);
    assert_names_in(folder.path(), &["data"]);
}

#[test]
fn a_mistake_of_usage_stays_one() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_three_lines(&launch(folder.path(), "-o a.xyz", &["touch", "started"]), 2);
    assert_names_in(folder.path(), &[]);
}

#[test]
fn a_command_begins_as_it_would_without_us() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "ulimit -Sn; ulimit -Hn; grep -E '^(Sig|Cpus|TracerPid)' /proc/self/status; \
                  cut -d' ' -f18,19,40,41 /proc/self/stat; cat /proc/self/timerslack_ns";
    let alone = std::process::Command::new("sh").args(["-c", script]).output().expect("it runs");
    let launched = launch(folder.path(), "-o a.folded --idle", &["sh", "-c", script]);
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).expect("text");
    assert!(text(&alone).contains("SigBlk"), "{}", text(&alone));
    assert_eq!(text(&launched), text(&alone), "limits, signals and scheduling");
}

#[test]
fn a_command_outlives_its_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    // It ends when the file is there, which is when its recording is over.
    let script = "while ! test -e a.folded; do :; done; exit 9";
    let output = launch(folder.path(), "-d 0.2 -o a.folded", &["sh", "-c", script]);
    assert_eq!(output.status.code(), Some(9), "{}", stderr_of(&output));
    assert_names_in(folder.path(), &["a.folded"]);
}

#[test]
fn a_second_interrupt_ends_us_while_we_wait_for_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = stackclock()
        .args(["record", "-i", "-o", "a.folded", "--", "sleep", "1000"])
        .current_dir(&folder)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let pid = Pid::from_raw(recorder.id() as i32);
    let interrupt = || kill(pid, Signal::SIGINT).expect("it is still there");
    let mut lines = BufReader::new(recorder.stderr.take().expect("stderr is piped")).lines();
    let mut read_until = |beginning: &str| {
        let found = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with(beginning));
        assert!(found, "no line {beginning:?}");
    };
    read_until("stackclock: recording");
    let child = child_of(recorder.id());
    interrupt();
    read_until("wrote");
    interrupt();
    let status = recorder.wait().expect("it ends");
    kill(Pid::from_raw(child as i32), Signal::SIGKILL).expect("the command runs on");
    assert_eq!(status.signal(), Some(Signal::SIGINT as i32));
    assert_names_in(folder.path(), &["a.folded"]);
}

fn child_of(pid: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("its children");
    children.trim().parse().expect("one child")
}

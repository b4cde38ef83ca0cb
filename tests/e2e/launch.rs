//! `record -- CMD`: the command's exit status becomes ours, its streams are its own, and `-s` follows its children.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::Workplace;
use crate::support::profile::{self, Thread};
use crate::support::profiler::{record_threads, run, stackclock};
use crate::support::target::{Target, debian_python, program, source};

#[test]
fn the_exit_status_of_the_command_becomes_ours() {
    let work = Workplace::new("exit-status");
    for (script, expected) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        let status = launch(&work, &["sh", "-c", script]).status().expect("run stackclock");
        assert_eq!(status.code(), Some(expected), "{script}");
    }
    let status = launch(&work, &["/no/such/program"]).stderr(Stdio::null()).status().expect("run stackclock");
    assert_eq!(status.code(), Some(127));
}

#[test]
fn the_streams_of_the_command_are_its_own() {
    let work = Workplace::new("streams");
    let mut child = launch(&work, &["sh", "-c", "cat; echo to-stderr >&2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("run stackclock");
    let message = "one\ntwo\n\u{e9}\0 three";
    child.stdin.take().expect("stdin is piped").write_all(message.as_bytes()).expect("write");
    let output = child.wait_with_output().expect("wait for stackclock");
    assert_eq!(String::from_utf8_lossy(&output.stdout), message, "nothing but the command writes to stdout");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.lines().any(|line| line == "to-stderr"), "{stderr}");
}

#[test]
fn a_launched_command_is_profiled_from_its_start() {
    let work = Workplace::new("from-the-start");
    let file = work.file("launched.speedscope.json");
    let script = "def early():\n    return sum(i * i for i in range(6000000))\nearly()\n";
    run(stackclock().args(["record", "-o"]).arg(&file).args(["--", "/usr/bin/python3", "-c", script]));
    let threads = profile::speedscope(&file);
    let main = threads.iter().max_by(|a, b| a.total_ns().total_cmp(&b.total_ns())).expect("a thread");
    let early = main.share_in("early");
    assert!(early > 0.5, "{:.1} % of the time in `early`, the only work there is", 100.0 * early);
}

#[test]
fn subprocesses_of_a_running_process_are_followed() {
    let work = Workplace::new("subprocesses-attached");
    let mut target = family(&mut Command::new(debian_python().path));
    let truth = target.truth();
    let threads = record_threads(&target, "-s --idle -d 2", &work.file("family.speedscope.json"));
    check_family(&threads, &truth);
}

#[test]
fn subprocesses_of_a_launched_process_are_followed() {
    let work = Workplace::new("subprocesses-launched");
    let file = work.file("family.speedscope.json");
    let mut recorder = stackclock();
    recorder.args(["record", "-s", "--idle", "-o"]).arg(&file).arg("--").arg(debian_python().path);
    let mut target = family(&mut recorder);
    let truth = target.truth();
    // Not a wait for something to happen, but the time that is recorded.
    std::thread::sleep(Duration::from_secs(2));
    target.end();
    let status = target.wait();
    assert!(status.success(), "{status}");
    check_family(&profile::speedscope(&file), &truth);
}

fn launch(work: &Workplace, command: &[&str]) -> Command {
    let mut launcher = stackclock();
    launcher.args(["record", "-o"]).arg(work.file("launched.folded")).arg("--").args(command);
    launcher
}

/// Starts family.py with the command line that `python` begins.
fn family(python: &mut Command) -> Target {
    let program = program("spinners");
    Target::spawn(python.arg(source("family.py")).arg(program).arg("1"))
}

/// One child by fork and exec (C++), two by fork alone (Python): each with its own process and function.
fn check_family(threads: &[Thread], truth: &serde_json::Value) {
    let pid = |value: &serde_json::Value| value.as_u64().expect("a pid");
    let workers =
        truth["workers"].as_array().expect("pids").iter().map(|worker| (pid(worker), "worker_computes"));
    for (pid, function) in workers.chain([(pid(&truth["program"]), "spin_for_ever")]) {
        let of_process = threads.iter().filter(|thread| u64::from(thread.pid) == pid);
        let in_function = of_process.map(|thread| thread.share_in(function)).fold(0.0, f64::max);
        let recorded = profile::names(threads);
        assert!(
            in_function > 0.8,
            "process {pid}: {in_function} of its time in {function}; recorded: {recorded:?}"
        );
    }
}

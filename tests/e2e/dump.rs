//! `dump`: every thread, in whatever state it is, at once.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::profiler::{run, stackclock};
use crate::support::target::{Target, debian_python, library, program, pythons};
use crate::support::{Workplace, eventually};

/// What a dump may take on a process that hangs, from the start of the command to its end.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The dump as JSON, and how long it took.
fn dump(target: &Target, options: &str) -> (Value, Duration) {
    let mut command = stackclock();
    command.args(["dump", "--json", "-p", &target.pid().to_string()]).args(options.split_whitespace());
    let begun = Instant::now();
    let output = run(&mut command);
    let took = begun.elapsed();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).expect("JSON"), took)
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value:#}"))
}

fn threads(dump: &Value) -> impl Iterator<Item = &Value> {
    list(dump, "processes").iter().flat_map(|process| list(process, "threads"))
}

#[track_caller]
fn thread<'a>(dump: &'a Value, name: &str) -> &'a Value {
    threads(dump).find(|thread| thread["name"] == name).unwrap_or_else(|| panic!("no {name} in {dump:#}"))
}

/// The functions of a thread, leaf first.
fn functions(thread: &Value) -> Vec<&str> {
    list(thread, "frames").iter().map(|frame| frame["function"].as_str().expect("a name")).collect()
}

#[track_caller]
fn assert_whole(thread: &Value) {
    let frames = list(thread, "frames");
    assert!(!frames.is_empty(), "{thread:#}");
    assert!(frames.iter().all(|frame| frame["kind"] != "error"), "{thread:#}");
}

#[test]
fn nested_calls_are_in_order_on_every_python() {
    let _work = Workplace::new("dump-nested");
    let library = library("nested");
    for python in pythons() {
        for (mode, state) in [
            ("sleep", "blocked"),
            ("native-wait", "blocked"),
            ("spin", "running"),
            ("native-spin", "running"),
        ] {
            let target = Target::start_python(&python, "nested.py", &[library.as_os_str(), mode.as_ref()]);
            let (seen, _) = dump(&target, "");
            let process = &list(&seen, "processes")[0];
            assert_eq!(process["pid"], target.pid());
            assert!(
                process["python"].as_str().is_some_and(|version| version.starts_with("3.")),
                "{process:#}"
            );
            let nested = threads(&seen).find(|thread| functions(thread).contains(&"outermost"));
            let nested = nested.unwrap_or_else(|| panic!("Python {}, {mode}: no `outermost`", python.name));
            assert_whole(nested);
            let up = [
                "nested_wait",
                "nested_spin",
                "bottom",
                "called_back",
                "nested_inner",
                "nested_entry",
                "reduce_step",
                "sort_key",
                "outermost",
            ];
            let ours: Vec<&str> = functions(nested).into_iter().filter(|name| up.contains(name)).collect();
            assert!(ours.ends_with(&up[2..]), "Python {}, {mode}: {ours:?}", python.name);
            // A thread that spins may be waiting for a CPU.
            let states = if state == "running" { vec!["running", "runnable"] } else { vec![state] };
            assert!(states.contains(&nested["state"].as_str().expect("a state")), "{nested:#}");
            // Spinning in Python, it holds the GIL as soon as the main thread has given it up to read.
            let holds_gil = || {
                threads(&dump(&target, "").0)
                    .any(|thread| thread["holds_gil"] == true && functions(thread).contains(&"outermost"))
            };
            assert!(
                mode != "spin" || eventually(Duration::from_secs(10), holds_gil),
                "Python {}",
                python.name
            );
        }
    }
}

#[test]
fn threads_that_cannot_be_stopped_or_have_large_stacks_are_seen_whole() {
    let _work = Workplace::new("dump-standstill");
    let target = Target::start(program("standstill"), &[]);
    let waits_in_vfork = || target.task_status("State").iter().any(|(_, state)| state.starts_with('D'));
    assert!(eventually(Duration::from_secs(10), waits_in_vfork), "no thread in state D");
    let (dump, took) = dump(&target, "");
    assert!(took < AT_ONCE, "{took:?}");

    let vfork = thread(&dump, "vfork");
    assert_eq!(vfork["state"], "uninterruptible");
    assert!(functions(vfork).iter().any(|name| name.contains("vfork_waits")), "{vfork:#}");
    assert_whole(vfork);
    for (name, state) in [("deep-asleep", &["blocked"][..]), ("deep-running", &["running", "runnable"])] {
        let deep = thread(&dump, name);
        assert_whole(deep);
        assert!(state.contains(&deep["state"].as_str().expect("a state")), "{deep:#}");
        let depth = functions(deep).iter().filter(|name| name.contains("go_down")).count();
        assert_eq!(depth, 257, "{name}");
    }
    assert_eq!(thread(&dump, "deep-asleep")["syscall"], "pause");
}

#[test]
fn a_stopped_process_is_seen_whole_and_stays_stopped() {
    let _work = Workplace::new("dump-stopped");
    let target = Target::start(program("standstill"), &[]);
    let pid = Pid::from_raw(target.pid() as i32);
    kill(pid, Signal::SIGSTOP).expect("stop it");
    let all_stopped = || {
        target.task_status("State").iter().all(|(_, state)| state.starts_with('T') || state.starts_with('D'))
    };
    assert!(eventually(Duration::from_secs(10), all_stopped), "{:?}", target.task_status("State"));
    let (dump, took) = dump(&target, "");
    let after = all_stopped();
    kill(pid, Signal::SIGCONT).expect("let it go on");
    assert!(took < AT_ONCE, "{took:?}");
    assert!(after, "a thread runs");
    for name in ["deep-asleep", "deep-running"] {
        let deep = thread(&dump, name);
        assert_eq!(deep["state"], "stopped", "{name}");
        assert_whole(deep);
    }
}

/// A real-time thread on a CPU leaves those that may run nowhere else nearly nothing; only the privileged start one.
#[test]
fn a_thread_without_a_cpu_does_not_hold_up_the_others() {
    let _work = Workplace::new("dump-starved");
    let target = Target::start(program("hog"), &[]);
    let hog = Command::new("chrt")
        .args(["-f", "90", "taskset", "-c", "0", "sh", "-c", "echo ready; while :; do :; done"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("run chrt");
    let mut hog = Killed(hog);
    let mut line = String::new();
    let stdout = hog.0.stdout.take().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("its word");
    assert_eq!(line, "ready\n", "this test needs the right to real-time priorities");
    let (dump, took) = dump(&target, "");
    drop(hog);
    assert!(took < AT_ONCE, "{took:?}");
    // The kernel leaves ordinary threads 5 % of the time (sched_rt_runtime_us); one of two may be in it.
    let states = ["victim", "rival"].map(|name| thread(&dump, name)["state"].clone());
    assert!(states.iter().all(|state| state == "runnable" || state == "running"), "{states:?}");
    assert!(states.iter().any(|state| state == "runnable"), "{states:?}");
}

#[test]
fn what_record_refuses_is_refused() {
    let _work = Workplace::new("dump-refusals");
    let mut zombie = Killed(Command::new("true").spawn().expect("run true"));
    let stat = format!("/proc/{}/stat", zombie.0.id());
    let is_zombie = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z "));
    assert!(eventually(Duration::from_secs(10), is_zombie), "not a zombie yet");
    for (pid, status) in [((1 << 22) + 1, 3), (zombie.0.id(), 1)] {
        let output = stackclock().args(["dump", "-p", &pid.to_string()]).output().expect("run stackclock");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{stderr}");
        assert!(output.stdout.is_empty());
        let labels: Vec<&str> =
            stderr.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
        assert_eq!(labels, ["error:", "cause:", "help:"], "{stderr}");
    }
    zombie.0.wait().expect("reap it");
}

struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn descendants_are_looked_at_when_asked_for() {
    let _work = Workplace::new("dump-family");
    let spinners = program("spinners");
    let mut target =
        Target::start_python(&debian_python(), "family.py", &[spinners.as_os_str(), "1".as_ref()]);
    let truth = target.truth();
    let mut family: Vec<u64> = list(&truth, "workers").iter().filter_map(Value::as_u64).collect();
    family.extend([u64::from(target.pid()), truth["program"].as_u64().expect("a pid")]);
    family.sort_unstable();
    let pids = |dump: &Value| -> Vec<u64> {
        list(dump, "processes").iter().filter_map(|process| process["pid"].as_u64()).collect()
    };
    assert_eq!(pids(&dump(&target, "").0), [u64::from(target.pid())]);
    let (dump, _) = dump(&target, "-s");
    assert_eq!(pids(&dump), family);
    let workers = threads(&dump).filter(|thread| functions(thread).contains(&"worker_computes")).count();
    assert_eq!(workers, 2);
}

#[test]
fn only_the_frames_that_were_asked_for() {
    let _work = Workplace::new("dump-frames");
    let library = library("nested");
    let target =
        Target::start_python(&debian_python(), "nested.py", &[library.as_os_str(), "native-wait".as_ref()]);
    let kinds = |options: &str| -> Vec<String> {
        let (dump, _) = dump(&target, options);
        let mut kinds: Vec<String> = (threads(&dump).flat_map(|thread| list(thread, "frames")))
            .map(|frame| frame["kind"].as_str().expect("a kind").to_owned())
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    };
    assert_eq!(kinds("--no-native"), ["python"]);
    assert!(!kinds("--native-only").contains(&"python".to_owned()));
    assert!(kinds("").contains(&"python".to_owned()) && kinds("").contains(&"native".to_owned()));
}

#[test]
fn the_text_has_the_process_the_threads_and_their_stacks() {
    let _work = Workplace::new("dump-text");
    let library = library("nested");
    let target =
        Target::start_python(&debian_python(), "nested.py", &[library.as_os_str(), "native-wait".as_ref()]);
    let output = run(stackclock().args(["dump", "-p", &target.pid().to_string()]));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let mut lines = text.lines();
    assert!(
        lines.next().is_some_and(|line| line.starts_with(&format!("Process {}: python3", target.pid()))),
        "{text}"
    );
    assert!(lines.next().is_some_and(|line| line.starts_with("Python v3.11.")), "{text}");
    assert!(text.contains("(blocked: futex): \""), "{text}");
    assert!(text.contains("\n    bottom (nested.py:"), "{text}");
    assert!(text.contains(", libnested.so)\n"), "{text}");
}

//! `--nonblocking`: nothing is ever stopped, and what is shown can be.

use std::collections::HashSet;
use std::path::Path;

use nix::sys::ptrace;
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::Workplace;
use crate::support::profile::{folded, function, state_of};
use crate::support::profiler::record;
use crate::support::target::{Python, Target, program, pythons};

/// The remarks at the leaf of stacks whose inner frames are not known.
const CHANGING: &str = "[incomplete: Python frames were changing]";
const NOT_STOPPED: &str = "[incomplete: running thread not stopped]";

/// Holds all threads of a process as their tracer, without stopping them: no other process can stop them with ptrace.
struct Held(Vec<Pid>);

impl Held {
    fn all_threads_of(target: &Target) -> Self {
        let tids = target.task_status("State").into_iter().map(|(tid, _)| Pid::from_raw(tid as i32));
        let held = Held(tids.collect());
        for &tid in &held.0 {
            ptrace::seize(tid, ptrace::Options::empty()).expect("the target is our child");
        }
        held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for &tid in &self.0 {
            // Only a stopped thread can be let go.
            if ptrace::interrupt(tid).is_ok() {
                let _ = nix::sys::wait::waitpid(tid, Some(nix::sys::wait::WaitPidFlag::__WALL));
                let _ = ptrace::detach(tid, None);
            }
        }
    }
}

/// What a recording of `tree.py` shows.
#[derive(Debug, Default)]
struct Seen {
    samples: u64,
    whole: u64,
    cut: u64,
    impossible: u64,
}

/// Counts the stacks of the tree's thread; `calls` are all that the program makes.
fn count(file: &Path, calls: &HashSet<(String, u64, String)>) -> Seen {
    let mut seen = Seen::default();
    for (stack, samples) in folded(file) {
        if !stack.iter().any(|frame| function(frame) == "forever") {
            continue;
        }
        seen.samples += samples;
        let code = &stack[..stack.len() - usize::from(state_of(&stack).is_some())];
        let cut = code.last().is_some_and(|leaf| leaf == CHANGING);
        let code = &code[..code.len() - usize::from(cut)];
        assert!(code.iter().all(|frame| !frame.starts_with('[')), "{stack:#?}");
        *if cut { &mut seen.cut } else { &mut seen.whole } += samples;
        let from = code.iter().position(|frame| function(frame) == "forever").expect("it is there");
        let tree = code.get(from + 1..).unwrap_or_default();
        let possible = tree.windows(2).all(|pair| {
            let line = pair[0].trim_end_matches(')').rsplit(':').next().and_then(|line| line.parse().ok());
            let call = (function(&pair[0]).to_owned(), line.expect("a line"), function(&pair[1]).to_owned());
            calls.contains(&call)
        });
        seen.impossible += if possible { 0 } else { samples };
    }
    seen
}

fn calls_of(target: &mut Target) -> HashSet<(String, u64, String)> {
    let truth = target.truth();
    let text = |value: &Value| value.as_str().expect("a name").to_owned();
    let calls = truth["calls"].as_array().expect("a list").iter();
    calls.map(|call| (text(&call[0]), call[1].as_u64().expect("a line"), text(&call[2]))).collect()
}

/// Leaves of about one and about ten microseconds.
#[test]
fn a_running_python_thread_is_read_without_a_stop_and_shows_possible_stacks() {
    let work = Workplace::new("nonblocking");
    let wanted = |python: &Python| ["3.11 (Debian)", "3.12", "3.13"].contains(&python.name.as_str());
    for python in pythons().iter().filter(|python| wanted(python)) {
        for counts in ["100", "1000"] {
            let mut target = Target::start_python(python, "tree.py", &[counts]);
            let calls = calls_of(&mut target);
            let held = Held::all_threads_of(&target);
            let file = work.file(&format!("{}-{counts}.folded", python.name));
            record(&target, "--nonblocking --counts -d 3.5 -r 2khz", &file);
            drop(held);
            let seen = count(&file, &calls);
            println!("Python {}, leaves that count to {counts}: {seen:?}", python.name);
            assert!(seen.samples >= 5000, "{seen:?}");
            assert!(seen.impossible * 2000 <= seen.samples, "more than 0.05 %: {seen:?}");
            // With leaves of one microsecond the share differs from run to run, as the program and the reads fall in step.
            assert!(counts == "100" || seen.whole * 10 > 9 * seen.samples, "{seen:?}");
            assert!(seen.whole > 0, "{seen:?}");
        }
    }
}

#[test]
fn a_running_native_thread_has_a_remark_for_a_stack() {
    let work = Workplace::new("nonblocking-native");
    let target = Target::start(program("threads"), &[]);
    let held = Held::all_threads_of(&target);
    let file = work.file("native.folded");
    record(&target, "--nonblocking --idle --counts -d 1", &file);
    drop(held);
    let stacks = folded(&file);
    let samples = |holds: &dyn Fn(&[String]) -> bool| -> u64 {
        stacks.iter().filter(|(stack, _)| holds(stack)).map(|(_, samples)| samples).sum()
    };
    let running = samples(&|stack| stack.last().is_some_and(|leaf| leaf == NOT_STOPPED));
    let asleep = samples(&|stack| stack.iter().any(|frame| function(frame) == "wait_for_batch"));
    assert!(running > 50 && asleep > 50, "{stacks:#?}");
    assert_eq!(samples(&|stack| stack.iter().any(|frame| frame.starts_with("[failed"))), 0, "{stacks:#?}");
}

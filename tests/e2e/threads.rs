//! Native threads without a Python frame are threads like any other.

use crate::support::Workplace;
use crate::support::profile::{self, Thread};
use crate::support::profiler::record_threads;
use crate::support::target::{Target, debian_python, library, program};

/// Thread, function and state of the eight threads of threads.cc; no state: it computes.
const THREADS: [(&str, &str, Option<&str>); 8] = [
    ("gather", "gather_rows", None),
    ("hash", "hash_keys", None),
    ("batch", "wait_for_batch", Some("[blocked: futex]")),
    ("lock", "wait_for_lock", Some("[blocked: futex]")),
    ("flush", "pause_between_flushes", Some("[blocked: clock_nanosleep]")),
    ("events", "serve_events", Some("[blocked: epoll_wait]")),
    ("requests", "read_requests", Some("[blocked: read]")),
    ("sockets", "poll_sockets", Some("[blocked: poll]")),
];

#[test]
fn eight_native_threads_beside_python_all_appear() {
    let work = Workplace::new("threads-beside-python");
    let target = Target::start_python(&debian_python(), "beside.py", &[library("threads")]);
    let threads = record_threads(&target, "--idle -d 1.5", &work.file("beside.speedscope.json"));
    check_all_eight(&threads);
    assert_eq!(threads.len(), 9, "the eight and Python's main thread");
}

#[test]
fn eight_threads_of_a_program_without_python_all_appear() {
    let work = Workplace::new("threads-alone");
    let target = Target::start(program("threads"), &[]);
    let threads = record_threads(&target, "--idle -d 1.5", &work.file("alone.speedscope.json"));
    check_all_eight(&threads);
}

#[test]
fn without_idle_only_threads_that_want_a_cpu_appear() {
    let work = Workplace::new("threads-not-idle");
    let target = Target::start(program("threads"), &[]);
    let threads = record_threads(&target, "-d 1.5", &work.file("active.speedscope.json"));
    for (name, _, state) in THREADS {
        let time_ns: f64 = threads.iter().filter(|thread| thread.name == name).map(Thread::total_ns).sum();
        assert_eq!(time_ns > 0.0, state.is_none(), "{name}: {time_ns} ns");
    }
    let blocked: Vec<_> = threads.iter().filter(|thread| thread.share_in_state("[blocked: ") > 0.0).collect();
    assert!(blocked.is_empty(), "{blocked:?}");
}

fn check_all_eight(threads: &[Thread]) {
    for (name, function, state) in THREADS {
        let thread = profile::thread(threads, name);
        let found = thread.share_in(function);
        assert!(found > 0.98, "{name}: {:.1} % of its time in {function}", 100.0 * found);
        let in_state = match state {
            Some(state) => thread.share_in_state(state),
            None => thread.share_running() + thread.share_in_state("[runnable]"),
        };
        assert!(in_state > 0.98, "{name}: {:.1} % of its time in {state:?}", 100.0 * in_state);
    }
}

//! The target is left as it was: no interrupted system call, no stopped thread, whatever becomes of the profiler.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::support::profile;
use crate::support::profiler::{Recording, record_threads, stackclock};
use crate::support::target::{Target, debian_python, growth, library, program};
use crate::support::{Workplace, eventually};

/// The threads of eintr.cc and the system call in which each one sits (glibc 2.36 makes one of another).
const SITTERS: [(&str, &str); 11] = [
    ("epoll_wait", "epoll_wait"),
    ("epoll_pwait2", "epoll_pwait2"),
    ("recv", "recvfrom"),
    ("semop", "semtimedop"),
    ("semtimedop", "semtimedop"),
    ("sigtimedwait", "rt_sigtimedwait"),
    ("io_getevents", "io_getevents"),
    ("nanosleep", "nanosleep"),
    ("futex", "futex"),
    ("poll", "poll"),
    ("read", "read"),
];

#[test]
fn no_sleeping_call_sees_eintr_and_no_thread_stays_stopped() {
    let work = Workplace::new("eintr");
    let mut target = Target::start(program("eintr"), &[]);
    let threads = record_threads(&target, "--idle -r 200 -d 10", &work.file("eintr.speedscope.json"));

    // First that they were looked at: a profiler that sees nothing interrupts nothing.
    for (name, call) in SITTERS {
        let blocked = profile::thread(&threads, name).share_in_state(&format!("[blocked: {call}]"));
        assert!(blocked > 0.99, "{name}: {:.1} % of its time blocked in {call}", 100.0 * blocked);
    }
    let truth = target.truth();
    for (name, interrupted) in truth.as_object().expect("an object") {
        assert_eq!(interrupted, 0, "EINTR in {name}");
    }
    assert_nothing_left_behind(&target);
}

#[test]
fn sigkill_of_the_profiler_at_any_instant_leaves_the_target_running() {
    let work = Workplace::new("sigkill");
    let arguments = [library("workload").into_os_string(), "2".into(), "8".into()];
    let mut target = Target::start_python(&debian_python(), "workload.py", &arguments);
    let pid = target.pid().to_string();
    for _ in 0..50 {
        let mut command = stackclock();
        command
            .args(["record", "--idle", "-r", "1000", "-p", &pid, "-o"])
            .arg(work.file("killed.speedscope.json"));
        let mut recording = Recording::start(&mut command);
        let lifetime = Duration::from_micros(RandomState::new().hash_one(()) % 150_000);
        std::thread::sleep(lifetime);
        recording.signal(Signal::SIGKILL);
        recording.wait();
        assert_nothing_left_behind(&target);
    }
    let before = target.truth();
    let goes_on = eventually(Duration::from_secs(5), || {
        let now = target.truth();
        growth(&before, &now, "/steps") > 0.0 && growth(&before, &now, "/lookups") > 0.0
    });
    assert!(goes_on, "the target does not get on any more: {before} then {}", target.truth());
}

/// No thread is stopped or traced. A thread that was just let go may still have to be woken, hence the wait.
fn assert_nothing_left_behind(target: &Target) {
    let free = || {
        let untraced = target.task_status("TracerPid").iter().all(|(_, tracer)| tracer == "0");
        let unstopped = target.task_status("State").iter().all(|(_, state)| !state.starts_with(['T', 't']));
        untraced && unstopped
    };
    assert!(
        eventually(Duration::from_secs(1), free),
        "left behind: {:?} {:?}",
        target.task_status("State"),
        target.task_status("TracerPid")
    );
}

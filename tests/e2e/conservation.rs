//! Wall time is conserved: each thread's weights sum to its lifetime, however busy the machine is.

use crate::support::Workplace;
use crate::support::profile::{self, Thread};
use crate::support::profiler::record_threads;
use crate::support::target::{Target, debian_python, library, program};

const SECONDS: f64 = 4.0;

#[test]
fn weights_sum_to_the_lifetime_when_every_cpu_is_busy() {
    let work = Workplace::new("busy");
    let cpus = std::thread::available_parallelism().expect("a number of CPUs").get();
    let spinners = 2 * cpus + 1;
    let target = Target::start(program("spinners"), &[&spinners.to_string()]);
    let options = format!("--idle -r 200 -d {SECONDS}");
    let threads = record_threads(&target, &options, &work.file("busy.speedscope.json"));
    for index in 0..spinners {
        check_lifetime(profile::thread(&threads, &format!("spin-{index}")));
    }
}

#[test]
fn weights_sum_to_the_lifetime_of_threads_that_work_and_wait() {
    let work = Workplace::new("mixed");
    let arguments = [library("workload").into_os_string(), "1".into(), "8".into()];
    let target = Target::start_python(&debian_python(), "workload.py", &arguments);
    let options = format!("--idle -r 200 -d {SECONDS}");
    let threads = record_threads(&target, &options, &work.file("mixed.speedscope.json"));
    assert_eq!(threads.len(), 11, "main, answer, 1 busy and 8 idle threads");
    threads.iter().for_each(check_lifetime);
}

/// The thread was there before and after the recording, so its lifetime in it is the recording's length.
fn check_lifetime(thread: &Thread) {
    let lifetime_ns = thread.end_ns - thread.start_ns;
    let off = (thread.total_ns() - lifetime_ns).abs() / lifetime_ns;
    assert!(off < 0.01, "{}: weights sum to {} ns of {lifetime_ns} ns", thread.name, thread.total_ns());
    // A recording on a busy machine may end a little late, and its time is then a little longer; never shorter.
    let seconds = thread.total_ns() / 1e9;
    assert!(
        (0.99 * SECONDS..1.05 * SECONDS).contains(&seconds),
        "{}: {seconds} s of {SECONDS} s",
        thread.name
    );
}

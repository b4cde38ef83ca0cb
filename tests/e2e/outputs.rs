//! What a recording leaves behind: several outputs at once, with and without idle time, and when it ends.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::support::Workplace;
use crate::support::profile::{self, Thread, state_of};
use crate::support::profiler::{Recording, run, stackclock};
use crate::support::target::{Target, program};

#[test]
fn several_outputs_of_one_recording_agree() {
    let work = Workplace::new("several-outputs");
    let target = Target::start(program("threads"), &[]);
    let (folded, speedscope, svg) =
        (work.file("threads.folded"), work.file("threads.speedscope.json"), work.file("threads.svg"));
    let pid = target.pid().to_string();
    run(stackclock()
        .args(["record", "--idle", "-d", "1", "-p", &pid])
        .arg("-o")
        .arg(&folded)
        .arg("-o")
        .arg(&speedscope)
        .arg("-o")
        .arg(&svg));

    let folded_us: u64 = profile::folded(&folded).iter().map(|(_, us)| us).sum();
    let speedscope_us: f64 = profile::speedscope(&speedscope).iter().map(Thread::total_ns).sum::<f64>() / 1e3;
    let difference = (folded_us as f64 - speedscope_us).abs() / speedscope_us;
    // Folded text has whole microseconds for each of its lines.
    assert!(difference < 0.001, "folded: {folded_us} us, speedscope: {speedscope_us} us");

    let svg = std::fs::read_to_string(svg).expect("read the SVG");
    assert!(svg.trim_end().ends_with("</svg>"), "the SVG is complete");
    for text in ["gather_rows", "serve_events", "[blocked: epoll_wait]"] {
        assert!(svg.contains(text), "the flame graph has no {text}");
    }
}

#[test]
fn idle_time_is_written_only_on_request() {
    let work = Workplace::new("idle");
    let target = Target::start(program("threads"), &[]);
    let pid = target.pid().to_string();
    let states_in = |name: &str, idle: &[&str]| {
        let file = work.file(name);
        run(stackclock().args(["record", "-d", "1", "-p", &pid, "-o"]).arg(&file).args(idle));
        let stacks = profile::folded(&file);
        let blocked = |stack: &[String]| state_of(stack).is_some_and(|state| state.starts_with("[blocked: "));
        let (off, on): (Vec<_>, Vec<_>) = stacks.into_iter().partition(|(stack, _)| blocked(stack));
        (on.len(), off.len())
    };
    let (on, off) = states_in("active.folded", &[]);
    assert!(on > 0 && off == 0, "without --idle: {on} stacks on a CPU, {off} blocked");
    let (on, off) = states_in("idle.folded", &["--idle"]);
    assert!(on > 0 && off >= 6, "with --idle: {on} stacks on a CPU, {off} blocked");
}

#[test]
fn ctrl_c_and_sigterm_finish_the_file() {
    let work = Workplace::new("ctrl-c");
    let target = Target::start(program("threads"), &[]);
    let pid = target.pid().to_string();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let file = work.file(&format!("{signal}.speedscope.json"));
        let mut recording =
            Recording::start(stackclock().args(["record", "--idle", "-p", &pid, "-o"]).arg(&file));
        std::thread::sleep(Duration::from_secs(1));
        recording.signal(signal);
        assert_eq!(recording.wait().code(), Some(0), "{signal}");
        let threads = profile::speedscope(&file);
        let seconds = profile::thread(&threads, "events").total_ns() / 1e9;
        assert!(seconds > 0.5, "{signal}: {seconds} s of about 1 s");
    }
}

#[test]
fn the_duration_ends_a_recording() {
    let work = Workplace::new("duration");
    let target = Target::start(program("threads"), &[]);
    let pid = target.pid().to_string();
    for (option, seconds) in [("2", 2.0), ("1.5s", 1.5), ("700ms", 0.7)] {
        let file = work.file(&format!("{option}.speedscope.json"));
        run(stackclock().args(["record", "--idle", "-d", option, "-p", &pid, "-o"]).arg(&file));
        let recorded = profile::thread(&profile::speedscope(&file), "events").total_ns() / 1e9;
        assert!((recorded - seconds).abs() < 0.1, "-d {option}: {recorded} s");
    }
}

#[test]
fn the_end_of_the_target_ends_a_recording() {
    let work = Workplace::new("target-ends");
    let mut target = Target::start(program("threads"), &[]);
    let file = work.file("ended.speedscope.json");
    let pid = target.pid().to_string();
    let mut recording =
        Recording::start(stackclock().args(["record", "--idle", "-d", "60", "-p", &pid, "-o"]).arg(&file));
    std::thread::sleep(Duration::from_millis(500));
    target.end();
    let ended = Instant::now();
    assert!(target.wait().success());
    assert_eq!(recording.wait().code(), Some(0));
    assert!(ended.elapsed() < Duration::from_secs(30), "it does not wait for the 60 s");
    assert!(profile::thread(&profile::speedscope(&file), "events").total_ns() > 0.0);
}

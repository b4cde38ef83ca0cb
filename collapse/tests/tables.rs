//! The tables of the example profile: golden text, and figures that can be counted by hand.

mod support;

use std::path::Path;

use stackclock_collapse::folded::{self, Numbers};
use stackclock_collapse::table::{self, Sort, Split};
use stackclock_collapse::{Clock, View, ViewOptions};
use support::example;
use support::golden::assert_golden;

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn wall() -> ViewOptions {
    ViewOptions { clock: Clock::WallClock, ..ViewOptions::default() }
}

#[test]
fn tables_are_as_blessed() {
    let profile = example::profile();
    let view = View::new(&profile, &wall());
    for (name, sort) in [("self", Sort::SelfTime), ("total", Sort::TotalTime)] {
        let mut text = Vec::new();
        table::functions(&view, sort, 10).write_text(&mut text).unwrap();
        assert_golden(&golden(&format!("functions_by_{name}.txt")), std::str::from_utf8(&text).unwrap());
    }
    let mut text = Vec::new();
    table::threads(&view).write_text(&mut text).unwrap();
    assert_golden(&golden("threads.txt"), std::str::from_utf8(&text).unwrap());
}

#[test]
fn self_times_add_up_and_recursion_counts_once() {
    let text = "main;fib;fib;fib 7\nmain;fib;wait;[blocked: futex] 2\nmain;fib;[gil] 1\n";
    let profile = folded::read(text.as_bytes(), Numbers::Microseconds).unwrap().profile;
    let table = table::functions(&View::new(&profile, &wall()), Sort::TotalTime, usize::MAX);
    assert_eq!((table.shown_ns, table.wall_ns), (10_000, 10_000));
    let split = |running_ns, gil_ns, blocked_ns| Split { running_ns, gil_ns, blocked_ns, runnable_ns: 0 };
    let rows: Vec<_> =
        table.functions.iter().map(|row| (row.function.as_str(), row.self_time, row.total)).collect();
    assert_eq!(
        rows,
        [
            ("fib", split(7000, 1000, 0), split(7000, 1000, 2000)),
            ("main", split(0, 0, 0), split(7000, 1000, 2000)),
            ("wait", split(0, 0, 2000), split(0, 0, 2000)),
        ]
    );
}

#[test]
fn every_nanosecond_is_some_functions_own_and_some_threads() {
    let profile = example::profile();
    for clock in [Clock::OnCpu, Clock::Cpu, Clock::WallClock, Clock::OffCpu, Clock::Gil] {
        let view = View::new(&profile, &ViewOptions { clock, ..ViewOptions::default() });
        let functions = table::functions(&view, Sort::SelfTime, usize::MAX);
        let own: u64 = functions.functions.iter().map(|row| row.self_time.sum_ns()).sum();
        assert_eq!(own, view.shown_ns(), "{clock:?}");
    }
    let threads = table::threads(&View::new(&profile, &wall())).threads;
    assert!(threads.iter().all(|row| row.sampled.sum_ns() == row.wall_ns));
}

#[test]
fn names_of_a_target_cannot_drive_the_terminal() {
    let text = "evil\u{1b}[2J 5\n";
    let profile = folded::read(text.as_bytes(), Numbers::Microseconds).unwrap().profile;
    let mut out = Vec::new();
    table::functions(&View::new(&profile, &wall()), Sort::SelfTime, 5).write_text(&mut out).unwrap();
    assert!(!out.contains(&0x1b));
}

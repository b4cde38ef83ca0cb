//! `stackclock doctor` on this machine, where the other tests attach to processes.

use crate::support::target::Target;
use crate::support::{run, stderr_of};

#[test]
fn what_the_other_tests_use_works() {
    let target = Target::busy();
    let output = run(["doctor", "-p", &target.pid().to_string()]);
    let stdout = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", stderr_of(&output));
    let subjects: Vec<_> = stdout.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(subjects, ["ptrace", "yama", "schedstat", "process"], "{stdout}");
    assert!(stdout.lines().all(|line| line.starts_with("ok ")), "{stdout}");
    assert!(stdout.contains("1 thread sampled"), "{stdout}");
}

#[test]
fn what_does_not_work_fails_with_a_remedy() {
    let output = run(["doctor", "-p", "4194305"]);
    let stdout = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{stdout}");
    let failed = stdout.lines().skip_while(|line| !line.starts_with("FAIL  process")).collect::<Vec<_>>();
    assert!(failed.len() == 2 && failed[0].contains("no process 4194305"), "{stdout}");
    assert!(failed[1].trim().starts_with("help: "), "{stdout}");
}

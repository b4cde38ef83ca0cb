//! The help texts, word by word: what a command offers changes only on purpose.

use crate::support::{assert_golden, run};

#[track_caller]
fn assert_help(arguments: &[&str], golden: &str) {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_golden(golden, std::str::from_utf8(&output.stdout).expect("help is UTF-8"));
}

#[test]
fn help_of_stackclock() {
    assert_help(&["--help"], "help/stackclock.txt");
}

#[test]
fn help_of_record() {
    assert_help(&["record", "--help"], "help/record.txt");
}

#[test]
fn help_of_report() {
    assert_help(&["report", "--help"], "help/report.txt");
}

#[test]
fn help_of_top() {
    assert_help(&["top", "--help"], "help/top.txt");
}

#[test]
fn help_of_dump() {
    assert_help(&["dump", "--help"], "help/dump.txt");
}

#[test]
fn help_of_diff() {
    assert_help(&["diff", "--help"], "help/diff.txt");
}

#[test]
fn help_of_doctor() {
    assert_help(&["doctor", "--help"], "help/doctor.txt");
}

/// A command that is added without a golden of its own fails here.
#[test]
fn every_command_has_a_golden() {
    let output = run(["--help"]);
    let help = String::from_utf8_lossy(&output.stdout);
    let commands = help.split("Commands:\n").nth(1).expect("a list of commands");
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    let goldens = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/help");
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        assert!(goldens.join(format!("{command}.txt")).is_file(), "no golden of `{command} --help`");
    }
}

#[test]
fn version_names_the_program() {
    let output = run(["--version"]);
    assert_eq!(output.stdout, format!("stackclock {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
}

#[test]
fn without_a_command_the_help_is_the_answer_and_the_status_says_usage() {
    let output = run([""; 0]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("Usage: stackclock"));
}

//! Data on standard output, all else on standard error, and no failure when nobody listens.

use std::io::Read;
use std::process::Stdio;

use crate::support::target::Target;
use crate::support::{assert_names_in, stackclock, stderr_of};

#[test]
fn standard_output_has_the_data_and_nothing_else() {
    let target = Target::busy();
    let folder = tempfile::tempdir().expect("a folder");
    let output = stackclock()
        .args(["record", "-d", "0.3", "-o", "-", "-f", "folded", "-p", &target.pid().to_string()])
        .current_dir(&folder)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(&output));
    let folded = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(!folded.is_empty());
    for line in folded.lines() {
        let (_, number) = line.rsplit_once(' ').expect("a number ends the line");
        number.parse::<u64>().expect("a whole number");
    }
    assert_names_in(folder.path(), &[]);
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let target = Target::busy();
    let mut recorder = stackclock()
        .args(["record", "-d", "0.3", "-o", "-", "-f", "flamegraph", "-p", &target.pid().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(recorder.stdout.take());
    let mut stderr = String::new();
    recorder.stderr.take().expect("stderr is piped").read_to_string(&mut stderr).expect("text");
    assert_eq!(recorder.wait().expect("it ends").code(), Some(0), "{stderr}");
    assert!(!stderr.contains("error"), "{stderr}");
}

#[test]
fn help_for_a_reader_that_has_enough_is_no_error() {
    let mut help = stackclock().args(["record", "--help"]).stdout(Stdio::piped()).spawn().expect("it runs");
    drop(help.stdout.take());
    assert_eq!(help.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_closed_standard_error_is_no_error() {
    let target = Target::busy();
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = stackclock()
        .args(["record", "-d", "0.3", "-o", "a.folded", "-p", &target.pid().to_string()])
        .current_dir(&folder)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(recorder.stderr.take());
    assert_eq!(recorder.wait().expect("it ends").code(), Some(0));
    assert_names_in(folder.path(), &["a.folded"]);
}

//! `stackclock report`: files of ours and of others as tables and in other formats.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::support::{assert_names_in, assert_three_lines, stackclock, stderr_of};

/// Two threads; 1.5 s on the CPU, 0.5 s off it.
const FOLDED: &str = "\
thread (10): main;run (app.py:3);train (app.py:10) 1000000
thread (10): main;run (app.py:3);train (app.py:11) 500000
thread (11): io;run (app.py:5);read (libc.so.6);[blocked: read] 500000
";

fn folder_with(name: &str, content: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(name), content).expect("a file");
    folder
}

fn report(folder: &Path, arguments: &str) -> Output {
    let mut command = stackclock();
    command.arg("report").args(arguments.split_whitespace()).current_dir(folder);
    command.output().expect("it runs")
}

#[track_caller]
fn stdout_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(output));
    assert_eq!(stderr_of(output), "");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The rows of a table with one blank between its columns.
fn rows(table: &str) -> Vec<String> {
    table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The names in the last column of a table, without their places.
fn functions(table: &str) -> Vec<String> {
    rows(table).iter().map(|row| row.rsplit(' ').nth(1).expect("a name and a place").to_owned()).collect()
}

#[test]
fn a_table_adds_up_functions() {
    let folder = folder_with("a.folded", FOLDED);
    let table = stdout_of(&report(folder.path(), "a.folded"));
    assert_eq!(
        rows(&table),
        [
            "1500.0 75.0 % 1500.0 75.0 % 100.0 % - - - train (app.py)",
            "500.0 25.0 % 500.0 25.0 % - - - 100.0 % read (libc.so.6)",
            "0.0 - 2000.0 100.0 % 75.0 % - - 25.0 % run (app.py)",
        ]
    );
}

#[test]
fn tables_are_sorted_and_cut_as_asked() {
    let folder = folder_with("a.folded", FOLDED);
    let table = stdout_of(&report(folder.path(), "a.folded --sort total --limit 2"));
    assert_eq!(functions(&table), ["run", "train"]);
}

#[test]
fn filters_choose_stacks_and_threads() {
    let folder = folder_with("a.folded", FOLDED);
    let shown = |options: &str| functions(&stdout_of(&report(folder.path(), &format!("a.folded {options}"))));
    assert_eq!(shown("--focus train"), ["train", "run"]);
    assert_eq!(shown("--ignore train"), ["read", "run"]);
    assert_eq!(shown("--thread ^io$"), ["read", "run"]);
}

#[test]
fn json_has_every_number_in_nanoseconds() {
    let folder = folder_with("a.folded", FOLDED);
    let json = stdout_of(&report(folder.path(), "a.folded --json"));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["shown_ns"], 2_000_000_000_u64);
    let read = &json["functions"][1];
    assert_eq!(read["function"], "read (libc.so.6)");
    assert_eq!(read["self"]["blocked_ns"], 500_000_000);
    assert_eq!(read["self"]["running_ns"], 0);
    assert_eq!(read["total"]["blocked_ns"], 500_000_000);
}

#[test]
fn a_file_survives_the_way_through_speedscope() {
    let folder = folder_with("a.folded", FOLDED);
    stdout_of(&report(folder.path(), "a.folded -o b.json -o b.svg"));
    let table = |name: &str| stdout_of(&report(folder.path(), name));
    assert_eq!(table("b.json"), table("a.folded"));
    assert_names_in(folder.path(), &["a.folded", "b.json", "b.svg"]);
}

#[test]
fn a_file_survives_the_way_through_pprof() {
    let folder = folder_with("a.folded", FOLDED);
    stdout_of(&report(folder.path(), "a.folded -o b.pb.gz"));
    stdout_of(&report(folder.path(), "b.pb.gz -o c.json -o c.folded"));
    let table = |name: &str| stdout_of(&report(folder.path(), name));
    assert_eq!(table("b.pb.gz"), table("a.folded"));
    assert_eq!(table("c.json"), table("a.folded"));
    // A name that says nothing: the content does.
    fs::rename(folder.path().join("b.pb.gz"), folder.path().join("b.pprof")).expect("a new name");
    assert_eq!(table("b.pprof"), table("a.folded"));
}

#[test]
fn standard_input_and_output_are_files_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = stackclock();
    command.args(["report", "-", "-o", "-", "-f", "speedscope"]).current_dir(&folder);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("stdin is piped").write_all(FOLDED.as_bytes()).expect("it listens");
    let json = stdout_of(&child.wait_with_output().expect("it ends"));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["profiles"].as_array().expect("profiles").len(), 2);
    assert_names_in(folder.path(), &[]);
}

#[test]
fn numbers_can_be_samples() {
    let folder = folder_with("py-spy.txt", "a;b 30\na 10\n");
    let table = stdout_of(&report(folder.path(), "py-spy.txt --samples-at 100"));
    assert_eq!(rows(&table)[0], "300.0 75.0 % 300.0 75.0 % 100.0 % - - - b");
}

#[test]
fn lines_that_are_no_folded_text_are_counted() {
    let folder = folder_with("a.folded", "a;b 1000\nnonsense\n");
    let output = report(folder.path(), "a.folded");
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr_of(&output).starts_with("warning: 1 line"), "{}", stderr_of(&output));
}

#[test]
fn files_that_are_no_profiles_are_refused() {
    for (name, content) in [
        ("a.txt", "no profile\n"),
        ("a.json", "{\"shared\": 5}"),
        ("a.json", ""),
        ("a", "{\"a\": [}"),
        ("a", "\u{0}\u{1}\u{2}"),
        ("a.svg", "<svg/>"),
        ("a.pb.gz", ""),
        ("a.pb.gz", "no profile"),
        ("a", "\u{1f}no gzip"),
    ] {
        let folder = folder_with(name, content);
        assert_three_lines(&report(folder.path(), &format!("{name} -o b.svg")), 1);
        assert_names_in(folder.path(), &[name]);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [error, ..] = assert_three_lines(&report(folder.path(), "missing.folded"), 1);
    assert_eq!(error, "error: cannot read 'missing.folded' as a profile");
    assert_three_lines(&report(folder.path(), "."), 1);
}

#[test]
fn a_file_without_samples_says_so() {
    let folder = folder_with("a.folded", "");
    let output = report(folder.path(), "a.folded -o b.folded");
    assert_three_lines(&output, 5);
    assert_eq!(fs::read_to_string(folder.path().join("b.folded")).expect("it is written"), "");
    let folder = folder_with("a.folded", FOLDED);
    assert_eq!(report(folder.path(), "a.folded --focus nowhere").status.code(), Some(5));
}

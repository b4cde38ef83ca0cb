//! `stackclock diff`: what got slower, in shares of the wall time, and the check of it.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::{assert_golden, assert_names_in, assert_three_lines, stackclock, stderr_of};

/// 10 s: 20 % load, 30 % train, 50 % old.
const BASE: &str = "\
main (app.py:1);load (app.py:3) 2000000
main (app.py:1);train (app.py:10) 3000000
main (app.py:1);old (app.py:20) 5000000
";

/// 20 s: 40 % load, 25 % train of its own and 10 % in what it calls since, 25 % old.
const NEW: &str = "\
main (app.py:1);load (app.py:3) 8000000
main (app.py:1);train (app.py:10) 5000000
main (app.py:1);train (app.py:10);check (app.py:30) 2000000
main (app.py:1);old (app.py:20) 5000000
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("base.folded"), BASE).expect("a file");
    fs::write(folder.path().join("new.folded"), NEW).expect("a file");
    folder
}

fn run(folder: &Path, arguments: &str) -> Output {
    let mut command = stackclock();
    command.args(arguments.split_whitespace()).current_dir(folder);
    command.output().expect("it runs")
}

#[track_caller]
fn stdout_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr_of(output));
    assert_eq!(stderr_of(output), "");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn the_table_shows_shares_and_how_they_changed() {
    let folder = folder();
    assert_golden("diff.txt", &stdout_of(&run(folder.path(), "diff base.folded new.folded")));
    let by_total = stdout_of(&run(folder.path(), "diff base.folded new.folded --sort total --limit 1"));
    assert!(by_total.lines().nth(1).expect("a row").ends_with("load (app.py)"), "{by_total}");
    assert_eq!(by_total.lines().count(), 2);
}

#[test]
fn json_has_times_and_shares() {
    let folder = folder();
    let json = stdout_of(&run(folder.path(), "diff base.folded new.folded --json"));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["base_wall_ns"], 10_000_000_000_u64);
    let load = &json["functions"][0];
    assert_eq!(load["function"], "load (app.py)");
    assert_eq!((&load["self"]["base_share"], &load["self"]["new_share"]), (&0.2.into(), &0.4.into()));
    assert_eq!(load["total"]["new_ns"], 8_000_000_000_u64);
}

#[test]
fn the_flame_graph_is_red_where_time_grew_and_blue_where_it_shrank() {
    let folder = folder();
    assert_eq!(stdout_of(&run(folder.path(), "diff base.folded new.folded -o d.svg")), "");
    let svg = fs::read_to_string(folder.path().join("d.svg")).expect("it is written");
    let color = |function: &str| {
        let after = svg.split(&format!("<title>{function} ")).nth(1).expect("a box");
        let numbers =
            after.split("fill=\"rgb(").nth(1).expect("a colour").split(')').next().expect("its end");
        numbers.split(',').map(|part| part.parse().expect("a number")).collect::<Vec<u32>>()
    };
    let (load, old) = (color("load (app.py)"), color("old (app.py)"));
    assert!(load[0] > load[2], "{load:?}");
    assert!(old[0] < old[2], "{old:?}");
}

#[test]
fn the_check_fails_when_a_share_grew_by_more_than_its_limit() {
    let folder = folder();
    let status = |limit: &str| {
        let output = run(folder.path(), &format!("diff base.folded new.folded --fail-above {limit}"));
        (output.status.code(), stderr_of(&output))
    };
    assert_eq!(status("20.1%"), (Some(0), String::new()));
    let (code, text) = status("5%");
    assert_eq!(code, Some(1));
    assert_eq!(text, "2 functions grew by more than 5 % of the wall time: load (app.py) by 20.0 %\n");
    assert_eq!(status("20%"), (Some(0), String::new()), "20 % is not more than 20 %");
    // The other way round only what fell before grows.
    let back = run(folder.path(), "diff new.folded base.folded --fail-above 30%");
    assert_eq!(back.status.code(), Some(0), "{}", stderr_of(&back));
    let same = stdout_of(&run(folder.path(), "diff new.folded new.folded --fail-above 0"));
    assert_eq!(same.lines().count(), 1, "{same}");
}

#[test]
fn every_format_is_compared_with_every_other() {
    let folder = folder();
    stdout_of(&run(folder.path(), "report base.folded -o base.pb.gz"));
    stdout_of(&run(folder.path(), "report new.folded -o new.json"));
    let of_folded = stdout_of(&run(folder.path(), "diff base.folded new.folded"));
    assert_eq!(stdout_of(&run(folder.path(), "diff base.pb.gz new.json")), of_folded);
}

#[test]
fn what_cannot_be_read_or_is_empty_says_so() {
    let folder = folder();
    assert_three_lines(&run(folder.path(), "diff base.folded missing.folded -o d.svg"), 1);
    assert_names_in(folder.path(), &["base.folded", "new.folded"]);
    let output = run(folder.path(), "diff base.folded new.folded --focus nowhere");
    assert_eq!(output.status.code(), Some(5), "{}", stderr_of(&output));
}

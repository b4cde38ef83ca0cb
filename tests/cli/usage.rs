//! Command lines that make no sense: each is refused in three lines, before anything is done.

use std::fmt::Write;

use crate::support::{assert_golden, assert_names_in, assert_three_lines, stackclock};

const MISTAKES: &[&str] = &[
    "recrod -p 1",
    "--rate 5",
    "record",
    "record --",
    "record sleep 5",
    "record -p 1 -- sleep 5",
    "record -p",
    "record -p 0",
    "record -p -7",
    "record -p abc",
    "record -p 99999999999",
    "record -p 1 -r 0",
    "record -p 1 -r -5",
    "record -p 1 -r nan",
    "record -p 1 -r 1e400",
    "record -p 1 -r 9000khz",
    "record -p 1 -r 5 --interval 5ms",
    "record -p 1 --interval 0",
    "record -p 1 -d abc",
    "record -p 1 -d 0",
    "record -p 1 -d -1",
    "record -p 1 -d 5parsecs",
    "record -p 1 -d 99999999999999999999",
    "record -p 1 --thread (",
    "record -p 1 --mode idle",
    "record -p 1 -i --mode cpu",
    "record -p 1 --backend dtrace",
    "record -p 1 --backend bpf",
    "record -p 1 --no-native --native-only",
    "record -p 1 -f perf",
    "record -p 1 -o profile.xyz",
    "record -p 1 -o profile",
    "record -p 1 -o profile.svg -f speedscope",
    "record -p 1 -o profile.svg -o profile.json -f flamegraph",
    "record -p 1 -o profile.pb.gz -f speedscope",
    "record -p 1 -o profile.svg -o profile.svg",
    "record -p 1 -o -",
    "record -p 1 --ratee 5",
    "report",
    "report a.folded b.folded",
    "report a.folded --sort size",
    "report a.folded --limit -1",
    "report a.folded --focus [",
    "report a.folded --json -o b.svg",
    "report a.folded -f speedscope",
    "report a.folded -o b.xyz",
    "diff a.folded",
    "diff a.folded b.folded -o c.json",
    "diff a.folded b.folded --json -o c.svg",
    "diff a.folded b.folded --fail-above much",
    "diff a.folded b.folded --fail-above 101%",
];

#[test]
fn every_mistake_is_refused_in_three_lines_that_do_not_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut transcript = String::new();
    for mistake in MISTAKES {
        let output = stackclock().args(mistake.split(' ')).current_dir(&folder).output().expect("it runs");
        let lines = assert_three_lines(&output, 2);
        writeln!(transcript, "$ stackclock {mistake}\n{}\n", lines.join("\n")).expect("a string takes all");
    }
    assert_names_in(folder.path(), &[]);
    assert_golden("usage.txt", &transcript);
}

#[test]
fn arguments_that_are_no_text_are_refused_like_others() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder");
    for flag in ["-p", "-r", "-d", "-f", "--thread"] {
        let output = stackclock()
            .args(["record", flag])
            .arg(OsStr::from_bytes(b"\xff\xfe"))
            .current_dir(&folder)
            .output()
            .expect("it runs");
        assert_three_lines(&output, 2);
    }
    assert_names_in(folder.path(), &[]);
}

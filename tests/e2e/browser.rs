//! The real speedscope (its npm package, in headless Chromium) opens what a recording of a real process writes.

use std::path::Path;
use std::process::Command;

use crate::support::Workplace;
use crate::support::profiler::{record, run};
use crate::support::target::{Target, debian_python, library};

#[test]
fn speedscope_opens_a_recording() {
    let work = Workplace::new("browser");
    let target = Target::start_python(&debian_python(), "beside.py", &[library("threads")]);
    let file = work.file("beside.speedscope.json");
    record(&target, "--idle -d 1", &file);
    // It compares every sample that speedscope understood with the file.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/speedscope_browser/open.mjs");
    run(Command::new("node").args([&script, &file, &work.file("beside")]));
    for view in ["time-order", "sandwich"] {
        let screenshot = work.file(&format!("beside-{view}.png"));
        assert!(
            std::fs::metadata(&screenshot).is_ok_and(|file| file.len() > 10_000),
            "{}",
            screenshot.display()
        );
    }
}

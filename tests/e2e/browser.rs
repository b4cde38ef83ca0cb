//! The real speedscope (its npm package, in headless Chromium) opens what we write.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::Workplace;
use crate::support::profiler::{record_threads, run};
use crate::support::target::{Target, debian_python, library};

#[test]
fn speedscope_opens_a_recording() {
    let work = Workplace::new("browser");
    let target = Target::start_python(&debian_python(), "beside.py", &[library("threads")]);
    let (file, screenshot) = (work.file("beside.speedscope.json"), work.file("speedscope.png"));
    let threads = record_threads(&target, "--idle -d 1", &file);

    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    // scripts/setup.sh has put the npm packages there.
    let tools = project.join("target/test-tools");
    let script = project.join("tests/e2e/open_speedscope.mjs");
    let output = run(Command::new("node").args([&script, &tools, &file, &screenshot]));
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(shown["errors"], Value::Array(Vec::new()));

    let title = shown["title"].as_str().expect("a title");
    assert!(title.contains(&format!("/{})", threads.len())), "{title:?} for {} threads", threads.len());
    let opened =
        threads.iter().find(|thread| title.contains(&format!("thread ({}): {}", thread.tid, thread.name)));
    let opened = opened.unwrap_or_else(|| panic!("{title:?} is none of our threads"));
    assert!(opened.share_running() > 0.5, "speedscope begins with a busy thread, not with {title:?}");
    assert!(
        std::fs::metadata(&screenshot).expect("a screenshot").len() > 10_000,
        "the screenshot shows something"
    );
}

//! The real speedscope opens our files in headless Chromium: `tests/speedscope_browser/open.mjs` compares what it
//! understood with what the file says.

#[path = "../../collapse/tests/support/example.rs"]
mod example;

use std::path::Path;
use std::process::Command;

use stackclock_collapse::{Clock, Profile, View, ViewOptions};
use stackclock_speedscope::write;

#[test]
fn speedscope_understands_every_sample_of_our_files() {
    let profile = example::profile();
    for (name, clock) in [("on-cpu", Clock::OnCpu), ("wall", Clock::WallClock)] {
        open_in_speedscope(name, &profile, clock);
    }
}

/// Writes the profile and opens it; the file and two screenshots stay in `target/tmp`.
fn open_in_speedscope(name: &str, profile: &Profile, clock: Clock) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}.speedscope.json"));
    let options = ViewOptions { clock, ..ViewOptions::default() };
    write(&View::new(profile, &options), std::fs::File::create(&file).unwrap()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/speedscope_browser/open.mjs");
    let run = Command::new("node").arg(script).arg(&file).arg(folder.join(name)).output();
    let run = run.expect("node starts; ./scripts/test.sh installs it");
    assert!(run.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&run.stderr));
    for view in ["time-order", "sandwich"] {
        let screenshot = folder.join(format!("{name}-{view}.png"));
        assert!(
            screenshot.metadata().unwrap().len() > 10_000,
            "{} is no picture of a page",
            screenshot.display()
        );
    }
}

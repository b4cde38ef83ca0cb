//! Speedscope files of the example profile: golden, against speedscope's own schema, round trip, hostile input.

#[path = "../../collapse/tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stackclock_collapse::{Clock, FileNames, Profile, RunState, Threads, View, ViewOptions};
use stackclock_speedscope::{ReadError, read, write};
use support::example;
use support::golden::assert_golden;

const INTERVAL_NS: u64 = 10_000_000;

fn wall() -> ViewOptions {
    ViewOptions { clock: Clock::WallClock, ..ViewOptions::default() }
}

fn written(profile: &Profile, options: &ViewOptions) -> String {
    let mut out = Vec::new();
    write(&View::new(profile, options), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_file_is_as_blessed() {
    let profile = example::profile();
    for (name, options) in [("default", ViewOptions::default()), ("wall", wall())] {
        // Pretty, so that a difference is a line; the version changes with every release.
        let file: Value = serde_json::from_str(&written(&profile, &options)).unwrap();
        let text = serde_json::to_string_pretty(&file).unwrap() + "\n";
        let text = text.replace(concat!("stackclock@", env!("CARGO_PKG_VERSION")), "stackclock@VERSION");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.speedscope.json"));
        assert_golden(&file, &text);
    }
}

/// The schema that the npm package `speedscope` ships.
fn published_schema() -> Value {
    let installed =
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-tools/node_modules/speedscope");
    let package = std::env::var_os("STACKCLOCK_SPEEDSCOPE_DIR").map_or_else(installed, PathBuf::from);
    let file = package.join("dist/release/file-format-schema.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!("{}: {error}; ./scripts/test.sh installs the npm package speedscope there", file.display())
    });
    serde_json::from_str(&text).unwrap()
}

#[test]
fn files_follow_speedscopes_published_schema() {
    let validator = jsonschema::validator_for(&published_schema()).unwrap();
    let separate = ViewOptions { threads: Threads::Separate, ..wall() };
    for profile in [example::profile(), Profile::default()] {
        for options in [ViewOptions::default(), wall(), separate.clone()] {
            let file: Value = serde_json::from_str(&written(&profile, &options)).unwrap();
            let errors: Vec<String> = validator.iter_errors(&file).map(|error| error.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new());
        }
    }
    let broken = json!({"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": [{}]});
    assert!(!validator.is_valid(&broken), "the validator finds nothing wrong with a broken file");
}

#[test]
fn weights_cover_each_threads_life_and_keep_every_sample_in_its_place() {
    let profile = example::profile();
    for options in [ViewOptions::default(), wall()] {
        let file: Value = serde_json::from_str(&written(&profile, &options)).unwrap();
        for thread in file["profiles"].as_array().unwrap() {
            let start = thread["startValue"].as_u64().unwrap();
            let weights: Vec<u64> =
                thread["weights"].as_array().unwrap().iter().map(|weight| weight.as_u64().unwrap()).collect();
            let length = thread["endValue"].as_u64().unwrap() - start;
            assert_eq!(weights.iter().sum::<u64>(), length, "{}", thread["name"]);
            let at = (0..profile.threads.len() as u32).map(stackclock_collapse::ThreadId);
            let id = at.into_iter().find(|id| thread["name"] == profile.thread_title(*id)).unwrap();
            let mut now = start;
            for (stack, weight) in thread["samples"].as_array().unwrap().iter().zip(weights) {
                let original = profile.samples.iter().find(|s| s.thread == id && s.at_ns == now).unwrap();
                let is_shown = options.clock.shows(original);
                assert_eq!(stack.as_array().unwrap().is_empty(), !is_shown, "{} at {now}", thread["name"]);
                now += weight;
            }
        }
    }
}

/// Rows by the texts of their frames, with their thread.
fn rows(profile: &Profile, files: FileNames) -> BTreeMap<Vec<String>, u64> {
    let view = View::new(profile, &ViewOptions { threads: Threads::Separate, files, ..wall() });
    let text = |row: &stackclock_collapse::Row| {
        view.stack(row.stack).iter().map(|frame| view.frames()[frame.0 as usize].text()).collect()
    };
    view.rows().iter().map(|row| (text(row), row.weight_ns)).collect()
}

#[test]
fn a_file_reads_back_to_the_same_rows() {
    let profile = example::profile();
    let file = written(&profile, &wall());
    let again = read(file.as_bytes(), INTERVAL_NS).unwrap();
    again.check().unwrap();
    assert_eq!(rows(&again, FileNames::Full), rows(&profile, FileNames::default()));
    let life = |profile: &Profile| {
        let lives = profile.threads.iter().map(|thread| (thread.tid, thread.start_ns, thread.end_ns));
        lives.collect::<Vec<_>>()
    };
    assert_eq!(life(&again), life(&profile));
    assert_eq!(
        again.processes.iter().map(|p| p.text()).collect::<Vec<_>>(),
        profile.processes.iter().map(|p| p.text()).collect::<Vec<_>>()
    );
}

#[test]
fn hidden_time_comes_back_as_gaps() {
    let profile = example::profile();
    let again = read(written(&profile, &ViewOptions::default()).as_bytes(), INTERVAL_NS).unwrap();
    let shown: Vec<(u32, u64, RunState)> = (profile.samples.iter())
        .filter(|sample| sample.state.is_on_cpu_or_wants_it())
        .map(|sample| (profile.thread(sample.thread).tid, sample.at_ns, sample.state))
        .collect();
    let read: Vec<(u32, u64, RunState)> = again
        .samples
        .iter()
        .map(|sample| (again.thread(sample.thread).tid, sample.at_ns, sample.state))
        .collect();
    assert_eq!(read, shown);
}

#[test]
fn evented_profiles_of_other_programs_are_read() {
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": "main", "file": "a.py", "line": 1}, {"name": "inner"}]},
        "profiles": [{"type": "evented", "name": "x", "unit": "seconds", "startValue": 1, "endValue": 3.5, "events": [
            {"type": "O", "frame": 0, "at": 1.25}, {"type": "O", "frame": 1, "at": 2},
            {"type": "C", "frame": 1, "at": 2.5}, {"type": "C", "frame": 0, "at": 3},
        ]}],
    });
    let profile = read(file.to_string().as_bytes(), INTERVAL_NS).unwrap();
    let samples: Vec<(u64, u64)> =
        profile.samples.iter().map(|s| (s.at_ns / 1_000_000, s.weight_ns / 1_000_000)).collect();
    assert_eq!(samples, [(1250, 750), (2000, 500), (2500, 500)]);
    assert_eq!((profile.threads[0].start_ns, profile.threads[0].end_ns), (1_000_000_000, 3_500_000_000));
    assert_eq!(profile.frames_root_to_leaf(profile.samples[1].stack).len(), 2);
}

#[test]
fn weights_without_a_unit_are_samples() {
    let file = json!({
        "shared": {"frames": [{"name": "main"}]},
        "profiles": [{"type": "sampled", "name": "x", "unit": "none", "startValue": 0, "endValue": 3,
            "samples": [[0], [0, 0]], "weights": [1, 2.0]}],
    });
    let profile = read(file.to_string().as_bytes(), INTERVAL_NS).unwrap();
    assert_eq!(
        profile.samples.iter().map(|s| s.weight_ns).collect::<Vec<_>>(),
        [INTERVAL_NS, 2 * INTERVAL_NS]
    );
}

#[test]
fn files_that_break_the_rules_are_refused_with_the_reason() {
    let sampled = |unit: &str, samples: Value, weights: Value| {
        json!({"shared": {"frames": [{"name": "f"}]}, "profiles": [{"type": "sampled", "name": "x", "unit": unit,
            "startValue": 0, "endValue": 1, "samples": samples, "weights": weights}]})
        .to_string()
    };
    let evented = |events: Value| {
        json!({"shared": {"frames": [{"name": "f"}]}, "profiles": [{"type": "evented", "name": "x",
            "unit": "none", "startValue": 0, "endValue": 1, "events": events}]})
        .to_string()
    };
    let error = |text: &str| read(text.as_bytes(), INTERVAL_NS).unwrap_err();
    assert!(matches!(error(""), ReadError::Format(_)));
    assert!(matches!(error("[]"), ReadError::Format(_)));
    assert!(matches!(error("{\"shared\": 1}"), ReadError::Format(_)));
    assert!(matches!(error(&sampled("bytes", json!([[0]]), json!([1]))), ReadError::NotTime { .. }));
    assert!(matches!(error(&sampled("hours", json!([[0]]), json!([1]))), ReadError::Format(_)));
    assert!(matches!(error(&sampled("none", json!([[0]]), json!([-1]))), ReadError::Time { .. }));
    assert!(matches!(error(&sampled("seconds", json!([[0]]), json!([1e300]))), ReadError::Time { .. }));
    assert!(matches!(
        error(&sampled("none", json!([[0]]), json!([]))),
        ReadError::Lengths { samples: 1, .. }
    ));
    assert!(matches!(
        error(&sampled("none", json!([[1]]), json!([1]))),
        ReadError::NoSuchFrame { frame: 1, .. }
    ));
    let huge = json!([u64::MAX, u64::MAX]);
    assert!(matches!(error(&sampled("nanoseconds", json!([[0], [0]]), huge)), ReadError::TooLong(_)));
    let event = |kind: &str, at: u32| json!({"type": kind, "frame": 0, "at": at});
    assert!(matches!(error(&evented(json!([event("C", 0)]))), ReadError::EventOrder { event: 0, .. }));
    let backwards = json!([event("O", 1), event("C", 0)]);
    assert!(matches!(error(&evented(backwards)), ReadError::EventOrder { event: 1, .. }));
}

#[test]
fn damaged_files_are_errors_or_profiles_never_panics() {
    let profile = example::profile();
    let original = written(&profile, &wall()).into_bytes();
    let mut random = 7_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut read_well = 0;
    for _ in 0..3000 {
        let mut damaged = original.clone();
        for _ in 0..1 + next(3) {
            let at = next(damaged.len());
            damaged[at] = b"0123456789-eE.,[]{}\":aOC"[next(24)];
        }
        if let Ok(again) = read(damaged.as_slice(), INTERVAL_NS) {
            read_well += 1;
            View::new(&again, &wall()).rows();
        }
    }
    assert!(read_well > 100, "the damage is too great to reach the reader: {read_well}");
}

#[test]
fn deep_evented_profiles_take_time_in_proportion_to_their_length() {
    // With a copy of the open stack for every event this would be 4 * 10^10 steps.
    const DEPTH: usize = 200_000;
    let event = |kind: &str, at: usize| json!({"type": kind, "frame": 0, "at": at});
    let opens = (0..DEPTH).map(|at| event("O", at));
    let closes = (0..DEPTH).map(|at| event("C", DEPTH + at));
    let file = json!({"shared": {"frames": [{"name": "f"}]}, "profiles": [{"type": "evented", "name": "x",
        "unit": "nanoseconds", "startValue": 0, "endValue": 2 * DEPTH, "events": opens.chain(closes).collect::<Vec<_>>()}]});
    let profile = read(file.to_string().as_bytes(), INTERVAL_NS).unwrap();
    assert_eq!(profile.samples.len(), 2 * DEPTH - 1);
}

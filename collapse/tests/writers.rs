//! Folded text and flame graphs of the example profile: golden files, round trips, totals.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;
use stackclock_collapse::folded::{self, Numbers};
use stackclock_collapse::{
    Clock, Code, FileNames, Lines, Profile, RunState, Threads, View, ViewOptions, flame_graph, pprof,
};
use support::example;
use support::golden::assert_golden;

/// Views that differ in every option, with the names of their golden files.
fn views() -> Vec<(&'static str, ViewOptions)> {
    let wall = ViewOptions { clock: Clock::WallClock, ..ViewOptions::default() };
    let threads = ViewOptions { threads: Threads::Separate, ..wall.clone() };
    vec![
        ("default", ViewOptions::default()),
        ("off_cpu", ViewOptions { clock: Clock::OffCpu, ..ViewOptions::default() }),
        ("gil", ViewOptions { clock: Clock::Gil, ..ViewOptions::default() }),
        ("python_functions", ViewOptions { code: Code::Python, lines: Lines::Dropped, ..wall.clone() }),
        ("native_full_names", ViewOptions { code: Code::Native, files: FileNames::Full, ..wall.clone() }),
        ("one_thread", ViewOptions { thread_name: Some(Regex::new("^pool").unwrap()), ..threads.clone() }),
        ("threads", threads),
        ("wall", wall),
    ]
}

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn folded_text(profile: &Profile, options: &ViewOptions, numbers: Numbers) -> String {
    let mut out = Vec::new();
    folded::write(&View::new(profile, options), numbers, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn folded_text_is_as_blessed() {
    let profile = example::profile();
    for (name, options) in views() {
        assert_golden(
            &golden(&format!("{name}.folded")),
            &folded_text(&profile, &options, Numbers::Microseconds),
        );
    }
    let counts = Numbers::Samples { interval_ns: 10_000_000 };
    let (name, options) = ("wall_counts.folded", &views()[7].1);
    assert_golden(&golden(name), &folded_text(&profile, options, counts));
}

/// Time awake is divided between running and waiting for a CPU, so a stretch need not have been observed itself.
#[test]
fn counts_leave_out_what_was_never_observed_and_times_do_not() {
    let mut profile = example::profile();
    let is_unobserved = |state| matches!(state, RunState::Runnable | RunState::GilWait);
    for sample in profile.samples.iter_mut().filter(|sample| is_unobserved(sample.state)) {
        sample.observations = 0;
    }
    let counts = folded_text(&profile, &views()[7].1, Numbers::Samples { interval_ns: 1 });
    assert!(!counts.contains("[runnable]") && !counts.contains("[gil]"), "{counts}");
    assert!(
        counts.contains("[blocked: futex]") && counts.lines().all(|line| !line.ends_with(" 0")),
        "{counts}"
    );
    let times = folded_text(&profile, &views()[7].1, Numbers::Microseconds);
    assert!(times.contains("[runnable]") && times.contains("[gil]"), "{times}");
    let mut file = Vec::new();
    pprof::write(&View::new(&profile, &views()[7].1), &mut file).unwrap();
    let read = pprof::read(file.as_slice(), 1).unwrap();
    let unobserved = read.samples.iter().filter(|sample| is_unobserved(sample.state));
    assert_eq!(
        unobserved.map(|sample| (sample.observations, sample.weight_ns > 0)).collect::<Vec<_>>(),
        [(0, true); 3]
    );
    assert!(read.samples.iter().all(|sample| is_unobserved(sample.state) || sample.observations > 0));
}

#[test]
fn folded_text_adds_up_to_the_time_shown() {
    let profile = example::profile();
    for (name, options) in views() {
        let text = folded_text(&profile, &options, Numbers::Microseconds);
        let total: u64 =
            text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        let shown_ns = View::new(&profile, &options).shown_ns();
        assert_eq!(total, (shown_ns + 500) / 1000, "{name}");
    }
}

#[test]
fn the_whole_wall_clock_is_every_threads_life() {
    let profile = example::profile();
    let view = View::new(&profile, &views()[7].1);
    assert_eq!(view.shown_ns(), view.wall_ns());
    let on_and_off: u64 =
        views()[..2].iter().map(|(_, options)| View::new(&profile, options).shown_ns()).sum();
    assert_eq!(on_and_off, view.wall_ns());
}

/// Rows by the texts of their frames.
fn rows(profile: &Profile, options: &ViewOptions) -> BTreeMap<Vec<String>, u64> {
    let view = View::new(profile, options);
    let texts = |row: stackclock_collapse::Row| {
        let frames = view.stack(row.stack);
        (frames.iter().map(|frame| view.frames()[frame.0 as usize].text()).collect::<Vec<_>>(), row.weight_ns)
    };
    view.rows().into_iter().map(texts).collect()
}

#[test]
fn folded_text_reads_back_to_the_same_rows() {
    let profile = example::profile();
    for (name, options) in views() {
        let text = folded_text(&profile, &options, Numbers::Microseconds);
        let file = folded::read(text.as_bytes(), Numbers::Microseconds).unwrap();
        assert_eq!((file.bad_lines, file.first_bad_line), (0, None));
        file.profile.check().unwrap();
        let everything = ViewOptions { clock: Clock::WallClock, files: FileNames::Full, ..options.clone() };
        assert_eq!(
            folded_text(&file.profile, &everything, Numbers::Microseconds),
            text_for(&file.profile, &text),
            "{name}"
        );
        let read = rows(&file.profile, &everything);
        let written = rows(&profile, &options);
        if file.profile.processes.len() == profile.processes.len() {
            assert!(read.keys().eq(written.keys()), "{name}");
        }
        for (stack, weight_ns) in &read {
            let original = written
                .iter()
                .find(|(whole, _)| whole.ends_with(stack))
                .unwrap_or_else(|| panic!("{stack:?}"));
            assert!(weight_ns.abs_diff(*original.1) < 1000, "{name}: {stack:?}");
        }
    }
}

/// `text` without process frames when the profile that was read from it has only one process.
fn text_for(profile: &Profile, text: &str) -> String {
    if profile.processes.len() > 1 {
        return text.to_owned();
    }
    let cut = |line: &str| line.split_once(';').map(|(_, rest)| format!("{rest}\n")).unwrap();
    text.lines().map(cut).collect()
}

#[test]
fn states_threads_and_processes_are_found_again() {
    let profile = example::profile();
    let text = folded_text(&profile, &views()[6].1, Numbers::Microseconds);
    let read = folded::read(text.as_bytes(), Numbers::Microseconds).unwrap().profile;
    let names = |profile: &Profile| {
        let ids = (0..profile.threads.len()).map(|at| stackclock_collapse::ThreadId(at as u32));
        let mut names: Vec<String> = ids.map(|id| profile.thread_title(id)).collect();
        names.sort();
        names
    };
    assert_eq!(names(&read), names(&profile));
    let states = |profile: &Profile| {
        let mut by_state: BTreeMap<RunState, u64> = BTreeMap::new();
        for sample in &profile.samples {
            *by_state.entry(sample.state).or_default() += sample.weight_ns / 1_000_000;
        }
        by_state
    };
    assert_eq!(states(&read).keys().collect::<Vec<_>>(), states(&profile).keys().collect::<Vec<_>>());
}

#[test]
fn lines_that_are_no_folded_text_are_counted_and_skipped() {
    let text: &[u8] =
        b"# made by hand\n\na;b 3\nno number\n12\na;b x\nc 18446744073709551615\n\xff 1\na;[gil] 4\r\nd 2";
    let file = folded::read(text, Numbers::Samples { interval_ns: 1000 }).unwrap();
    assert_eq!((file.bad_lines, file.first_bad_line), (5, Some(4)));
    assert_eq!(file.profile.samples.len(), 3);
    assert_eq!(file.profile.samples[1].state, RunState::GilWait);
    assert_eq!(file.profile.samples[1].observations, 4);
    assert_eq!(file.profile.recorded.duration_ns, 9000);
}

/// The flame graph without inferno's JavaScript and style sheet, one element a line.
fn picture(profile: &Profile, options: &ViewOptions) -> String {
    let mut svg = Vec::new();
    flame_graph::write(&View::new(profile, options), &mut svg).unwrap();
    let svg = String::from_utf8(svg).unwrap();
    let without = |text: String, from: &str, to: &str| match (text.find(from), text.find(to)) {
        (Some(start), Some(end)) => format!("{}{}", &text[..start], &text[end + to.len()..]),
        _ => text,
    };
    let svg = without(svg, "<script", "</script>");
    let svg = without(svg, "<style", "</style>");
    // What is drawn, not inferno's layout of it: titles and boxes.
    let element = Regex::new(
        r#"<title>[^<]*|<text id="(?:sub)?title"[^<]*<|<text[^>]*>[^<]*|fill="rgb[^"]*"|fg:[xw]="\d+""#,
    );
    element.unwrap().find_iter(&svg).map(|found| format!("{}\n", found.as_str())).collect()
}

#[test]
fn flame_graphs_are_as_blessed() {
    let profile = example::profile();
    for at in [0, 7] {
        let (name, options) = &views()[at];
        assert_golden(&golden(&format!("{name}.svg.txt")), &picture(&profile, options));
    }
}

#[test]
fn a_flame_graph_says_which_clock_it_shows() {
    let profile = example::profile();
    for (_, options) in views() {
        assert!(picture(&profile, &options).contains(options.clock.describe()));
    }
}

#[test]
fn a_profile_without_time_gives_a_picture_that_says_so() {
    let nobody = ViewOptions { thread_name: Some(Regex::new("^$x").unwrap()), ..ViewOptions::default() };
    for profile in [Profile::default(), example::profile()] {
        let picture = picture(&profile, &nobody);
        assert!(picture.contains("No time to show"), "{picture}");
        assert_eq!(folded_text(&profile, &nobody, Numbers::Microseconds), "");
    }
}

#[test]
fn equal_frames_side_by_side_are_one_box_whatever_their_names() {
    let text = "f;a 10\nf (x);a 10\nf;b 10\nf 5\nf 12;c 7\n# ;a 1\n";
    let read = folded::read(text.as_bytes(), Numbers::Microseconds).unwrap();
    assert_eq!(read.bad_lines, 0);
    let options = ViewOptions { clock: Clock::WallClock, ..ViewOptions::default() };
    let mut svg = Vec::new();
    flame_graph::write(&View::new(&read.profile, &options), &mut svg).unwrap();
    let svg = String::from_utf8(svg).unwrap();
    assert_eq!(svg.matches("<title>f (0 ms, ").count(), 1, "one box for f");
    assert!(svg.contains("total_samples=\"42\""));
}

//! pprof files of the example profile: as Go's `pprof` itself reads them (golden), round trip, files of others, hostile
//! input.

mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use stackclock_collapse::folded::{self, Numbers};
use stackclock_collapse::pprof::{ReadError, read, write};
use stackclock_collapse::{Clock, FileNames, Profile, RunState, Threads, View, ViewOptions};
use support::example;
use support::golden::assert_golden;

const INTERVAL_NS: u64 = 10_000_000;

fn wall() -> ViewOptions {
    ViewOptions { clock: Clock::WallClock, ..ViewOptions::default() }
}

/// What shows everything that is in a file that was read.
fn everything() -> ViewOptions {
    ViewOptions { files: FileNames::Full, threads: Threads::Separate, ..wall() }
}

fn written(profile: &Profile, options: &ViewOptions) -> Vec<u8> {
    let mut out = Vec::new();
    write(&View::new(profile, options), &mut out).unwrap();
    out
}

fn folded_text(profile: &Profile, options: &ViewOptions) -> String {
    let mut out = Vec::new();
    folded::write(&View::new(profile, options), Numbers::Microseconds, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// What `go tool pprof` says of a file.
fn go_pprof(arguments: &[&str], file: &[u8]) -> Vec<u8> {
    let mut on_disk = tempfile::Builder::new().suffix(".pb.gz").tempfile().unwrap();
    on_disk.write_all(file).unwrap();
    let output = Command::new("go")
        .args(["tool", "pprof"])
        .args(arguments)
        .arg(on_disk.path())
        .env("PPROF_TMPDIR", on_disk.path().parent().unwrap())
        .output()
        .unwrap_or_else(|error| panic!("go: {error}; ./scripts/test.sh installs Debian's golang-go"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn go_pprof_text(arguments: &[&str], file: &[u8]) -> String {
    String::from_utf8(go_pprof(arguments, file)).unwrap()
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn gos_pprof_reads_what_was_written() {
    let profile = example::profile();
    for (name, options) in [("default", ViewOptions::default()), ("wall", wall())] {
        assert_golden(
            &golden(&format!("{name}.pprof.txt")),
            &go_pprof_text(&["-raw"], &written(&profile, &options)),
        );
    }
}

#[test]
fn gos_pprof_adds_up_the_same_time() {
    let profile = example::profile();
    let file = written(&profile, &wall());
    let top = go_pprof_text(&["-top", "-unit=ns", "-nodecount=1"], &file);
    let wall_ns = View::new(&profile, &wall()).wall_ns();
    assert!(top.contains(&format!("Total samples = {wall_ns}ns")), "{top}");
    assert!(top.contains("\nType: wall\n"), "{top}");
    let counts = go_pprof_text(&["-top", "-sample_index=samples", "-nodecount=1"], &file);
    let observations: u32 = profile.samples.iter().map(|sample| sample.observations).sum();
    assert!(counts.contains(&format!("% of {observations} total")), "{counts}");
}

/// Time by folded stack and by state.
fn times(profile: &Profile, options: &ViewOptions) -> BTreeMap<(Vec<String>, RunState), (u64, u64)> {
    let view = View::new(profile, options);
    let mut times: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for (sample, stack) in view.samples() {
        let Some(stack) = stack else { continue };
        let frames = view.stack(stack).iter().map(|frame| view.frames()[frame.0 as usize].text()).collect();
        let time = times.entry((frames, sample.state)).or_default();
        *time = (time.0 + sample.weight_ns, time.1 + u64::from(sample.observations));
    }
    times
}

#[test]
fn a_file_reads_back_to_the_same_times_to_the_nanosecond() {
    let profile = example::profile();
    for options in [ViewOptions::default(), wall(), ViewOptions { files: FileNames::Full, ..wall() }] {
        let read = read(written(&profile, &options).as_slice(), INTERVAL_NS).unwrap();
        read.check().unwrap();
        assert_eq!(
            times(&read, &everything()),
            times(&profile, &ViewOptions { threads: Threads::Separate, ..options })
        );
        assert_eq!(read.recorded.started, profile.recorded.started);
        assert_eq!(read.recorded.duration_ns, profile.recorded.duration_ns);
        assert_eq!(read.recorded.rate_hz, profile.recorded.rate_hz);
    }
}

#[test]
fn writing_what_was_read_gives_the_same_file() {
    let file = written(&example::profile(), &wall());
    let again = read(file.as_slice(), INTERVAL_NS).unwrap();
    assert_eq!(written(&again, &ViewOptions { files: FileNames::Full, ..wall() }), file);
}

#[test]
fn inlined_functions_are_lines_of_one_location() {
    let raw = go_pprof_text(&["-raw"], &written(&example::profile(), &wall()));
    let lines: Vec<&str> = raw.lines().map(str::trim).collect();
    let inner = lines.iter().position(|line| line.contains("ops::fma simd.h:12")).unwrap();
    assert!(lines[inner].starts_with(|first: char| first.is_ascii_digit()), "{}", lines[inner]);
    assert!(
        lines[inner + 1].starts_with("ops::matmul<[u8; 4]>(float*) matmul.cpp:88"),
        "{}",
        lines[inner + 1]
    );
}

/// `-proto` reads the file and writes it with Go's own encoder, with ids, texts and samples in an order of its own.
#[test]
fn what_go_writes_is_read() {
    let profile = example::profile();
    let file = go_pprof(&["-proto", "-output=/dev/stdout"], &written(&profile, &wall()));
    assert_ne!(file, written(&profile, &wall()));
    let read = read(file.as_slice(), INTERVAL_NS).unwrap();
    assert_eq!(
        folded_text(&read, &everything()),
        folded_text(&profile, &ViewOptions { threads: Threads::Separate, ..wall() })
    );
}

#[test]
fn an_empty_profile_is_a_file_too() {
    let read = read(written(&Profile::default(), &wall()).as_slice(), INTERVAL_NS).unwrap();
    assert!(read.samples.is_empty());
}

/// A protocol buffer written by hand: what other programs could have meant, and what nobody did.
#[derive(Clone, Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3);
        self.varint(value as u64);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u64, fields: &[(u64, i64)]) -> Self {
        let message =
            fields.iter().fold(Message::default(), |all, (field, value)| all.number(*field, *value));
        self.bytes(field, &message.0)
    }

    fn texts(self, texts: &[&str]) -> Self {
        texts.iter().fold(self, |all, text| all.bytes(6, text.as_bytes()))
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A profile of one function `f`: sample types as places in the texts 1 to 7, and one sample with these values.
fn of_f(types: &[(i64, i64)], values: &[i64]) -> Message {
    let mut sample = Message::default().number(1, 1);
    for value in values {
        sample = sample.number(2, *value);
    }
    types
        .iter()
        .fold(Message::default(), |all, (kind, unit)| all.message(1, &[(1, *kind), (2, *unit)]))
        .bytes(2, &sample.0)
        .bytes(4, &Message::default().number(1, 1).message(4, &[(1, 1), (2, 7)]).0)
        .message(5, &[(1, 1), (2, 8), (4, 9)])
        .texts(&["", "samples", "count", "cpu", "milliseconds", "delay", "fortnights", "space", "f", "f.go"])
}

fn only_sample(file: &Message) -> (u64, u32) {
    let read = read(file.0.as_slice(), INTERVAL_NS).unwrap();
    let [sample] = read.samples[..] else { panic!("not one sample: {:?}", read.samples) };
    assert_eq!(read.frames.values()[0].text(), "f (f.go:7)");
    (sample.weight_ns, sample.observations)
}

const SAMPLES: (i64, i64) = (1, 2);
const CPU_MS: (i64, i64) = (3, 4);
const DELAY_MS: (i64, i64) = (5, 4);

#[test]
fn the_default_or_last_value_is_taken_for_time() {
    assert_eq!(only_sample(&of_f(&[SAMPLES, CPU_MS], &[3, 31])), (31_000_000, 3));
    assert_eq!(only_sample(&of_f(&[CPU_MS, DELAY_MS], &[5, 7])), (7_000_000, 1));
    assert_eq!(only_sample(&of_f(&[CPU_MS, DELAY_MS], &[5, 7]).number(14, 3)), (5_000_000, 1));
    // Counts: of the period where it is a time.
    assert_eq!(only_sample(&of_f(&[SAMPLES], &[3])), (30_000_000, 3));
    let with_period = of_f(&[SAMPLES], &[3]).message(11, &[(1, 3), (2, 4)]).number(12, 2);
    assert_eq!(only_sample(&with_period), (6_000_000, 3));
}

#[test]
fn code_without_a_function_is_named_by_its_place_in_the_file() {
    let file = Message::default()
        .message(1, &[(1, 3), (2, 4)])
        .message(2, &[(1, 1), (2, 5)])
        .message(3, &[(1, 1), (2, 0x1000), (4, 0x200), (5, 5)])
        .message(4, &[(1, 1), (2, 1), (3, 0x1234)])
        .texts(&["", "", "", "cpu", "milliseconds", "/usr/lib/libx.so"]);
    let read = read(file.0.as_slice(), INTERVAL_NS).unwrap();
    assert_eq!(read.frames.values()[0].text(), "libx.so+0x434");
}

#[test]
fn files_that_break_the_rules_are_refused() {
    let refused = |file: Message| read(file.0.as_slice(), INTERVAL_NS).unwrap_err().to_string();
    assert_eq!(refused(Message::default()), "it has no sample types");
    assert_eq!(refused(of_f(&[(7, 6)], &[1])), "it counts space in fortnights, not time");
    assert_eq!(refused(of_f(&[(7, 99)], &[1])), "it has no text 99");
    assert_eq!(refused(of_f(&[SAMPLES, CPU_MS], &[1])), "a sample has 1 values in place of 2");
    assert_eq!(refused(of_f(&[CPU_MS], &[-1])), "a sample has the time -1");
    assert_eq!(refused(of_f(&[CPU_MS], &[i64::MAX])), format!("a sample has the time {}", i64::MAX));
    let sample = |file: Message, location| file.message(2, &[(1, location), (2, 1)]);
    assert_eq!(refused(sample(of_f(&[CPU_MS], &[1]), 5)), "it has no location 5");
    let cpu = of_f(&[CPU_MS], &[1]);
    assert_eq!(refused(cpu.clone().message(4, &[(1, 2), (2, 3)])), "it has no mapping 3");
    let line = Message::default().number(1, 2).message(4, &[(1, 9)]);
    assert_eq!(refused(cpu.bytes(4, &line.0)), "it has no function 9");
    assert!(matches!(read(&b"no profile\n"[..], INTERVAL_NS), Err(ReadError::Field { at: 0 })));
    assert!(matches!(read(&b"\x1f\x8bno gzip"[..], INTERVAL_NS), Err(ReadError::Io(_))));
}

#[test]
fn times_that_overflow_are_refused() {
    let mut file = of_f(&[CPU_MS], &[i64::MAX / 1_000_000]);
    for _ in 0..3 {
        file = file.message(2, &[(1, 1), (2, i64::MAX / 1_000_000)]);
    }
    assert!(matches!(read(file.0.as_slice(), INTERVAL_NS), Err(ReadError::TooLong(_))));
}

#[test]
fn files_that_unpack_to_too_much_are_refused() {
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..65 {
        bomb.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    assert!(matches!(read(bomb.as_slice(), INTERVAL_NS), Err(ReadError::TooLarge { .. })));
    // Many empty functions: two bytes each.
    let functions = [5 << 3 | 2, 0].repeat(4_000_001);
    assert!(matches!(read(functions.as_slice(), INTERVAL_NS), Err(ReadError::TooMany(_))));
    // A location of a thousand lines that samples name a thousand times each.
    let line = Message::default().message(4, &[(1, 1), (2, 7)]).0;
    let location =
        Message::default().number(1, 2).0.into_iter().chain(line.repeat(1000)).collect::<Vec<u8>>();
    let stack = Message::default().number(1, 2).0.repeat(1000);
    let sample: Vec<u8> = stack.into_iter().chain(Message::default().number(2, 1).0).collect();
    let mut file = of_f(&[CPU_MS], &[1]).bytes(4, &location);
    for _ in 0..100 {
        file = file.bytes(2, &sample);
    }
    assert!(matches!(read(file.0.as_slice(), INTERVAL_NS), Err(ReadError::TooLarge { .. })));
}

#[test]
fn damaged_files_are_read_or_refused() {
    let packed = written(&example::profile(), &wall());
    let mut message = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(packed.as_slice()), &mut message).unwrap();
    let mut refused = 0;
    for file in [&packed, &message] {
        for at in 0..file.len() {
            refused += u32::from(read(&file[..at], INTERVAL_NS).is_err());
            for damage in [0x01, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= damage;
                match read(damaged.as_slice(), INTERVAL_NS) {
                    Ok(profile) => profile.check().unwrap(),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

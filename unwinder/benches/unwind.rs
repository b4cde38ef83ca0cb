//! Nanoseconds a frame, beside framehop, on threads of real processes copied when the benchmark starts.
//!
//! `cargo bench -p stackclock-unwinder --bench unwind` prints a table and, as its last line, the same as JSON.

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackclock_unwinder::native::{AddressSpace, ModuleStore, NativeStack, StackEnd, Unwinder};
use stackclock_unwinder::{Capture, FrameAddress};
use support::captures::{MappedModule, capture, modules};
use support::framehop::Framehop;
use support::{Target, compile};

/// Threads copied from each process, at moments some milliseconds apart.
const CAPTURES: usize = 100;
/// Measurements of which the best is reported.
const ROUNDS: usize = 200;
/// Length of one measurement, at least.
const ROUND: Duration = Duration::from_millis(4);

/// C calling Python calling C, with regular expressions and sorting between, 30 deep.
const NESTED_PYTHON: &str = r#"
import functools, re, sys
print("ready", flush=True)
def level(n):
    if n == 0:
        return sum(len(re.sub(r"(\w)(\d)", r"\2\1", "a1b2c3" * 8)) for _ in range(4))
    return sorted([n, n - 1], key=lambda k: functools.reduce(lambda a, b: a + level(n - 1), [0, 1]) if k == n else 0)[0]
while True:
    level(8)
"#;

struct Workload {
    name: &'static str,
    space: AddressSpace,
    modules: Vec<MappedModule>,
    captures: Vec<Capture>,
}

impl Workload {
    fn copy(name: &'static str, command: &mut Command, store: &ModuleStore) -> Workload {
        let target = Target::start(command);
        let copy = |index: u64| {
            std::thread::sleep(Duration::from_millis(3 + index % 7));
            capture(&target, target.pid(), 1 << 20)
        };
        let captures = (0..CAPTURES as u64).map(copy).collect();
        let (space, modules) = modules(&target, store);
        Workload { name, space, modules, captures }
    }

    fn measure(&self) -> Value {
        let mut unwinder = Unwinder::new();
        let mut stack = NativeStack::default();
        let (mut roots, mut depth) = (0, 0);
        for capture in &self.captures {
            unwind(&mut unwinder, &self.space, capture, &mut stack);
            roots += usize::from(stack.end == StackEnd::Root);
            depth += stack.frames.len();
        }
        let mut framehop = Framehop::new(&self.modules);
        let mut frames = Vec::new();
        let [ours, theirs] = ns_per_frame([
            &mut || self.captures.iter().map(|one| unwind(&mut unwinder, &self.space, one, &mut stack)).sum(),
            &mut || self.captures.iter().map(|one| framehop.unwind(one, &mut frames)).sum(),
        ]);
        json!({
            "workload": self.name,
            "frames_per_stack": depth as f64 / CAPTURES as f64,
            "roots_reached": format!("{roots}/{CAPTURES}"),
            "stackclock_ns_per_frame": ours,
            "framehop_ns_per_frame": theirs,
        })
    }
}

fn unwind(
    unwinder: &mut Unwinder,
    space: &AddressSpace,
    capture: &Capture,
    stack: &mut NativeStack,
) -> usize {
    let start = FrameAddress::InstructionPointer(capture.registers.ip);
    unwinder.unwind(space, start, &capture.registers, &capture.stack, stack);
    stack.frames.len()
}

/// Time by frames of each contestant, which returns the frames that it walked. They take turns, so that a busy
/// machine disturbs all alike, and the best round counts, since others' load only ever adds time.
fn ns_per_frame<const N: usize>(mut contestants: [&mut dyn FnMut() -> usize; N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (pass, best) in contestants.iter_mut().zip(&mut best) {
            let (begin, mut frames) = (Instant::now(), 0);
            while begin.elapsed() < ROUND {
                frames += pass();
            }
            *best = best.min(begin.elapsed().as_nanos() as f64 / frames as f64);
        }
    }
    best
}

fn python() -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let pattern = format!("{home}/.pyenv/versions");
    let versions = std::fs::read_dir(pattern).into_iter().flatten().flatten();
    let mut pythons = versions.map(|entry| entry.path().join("bin/python3.11")).filter(|path| path.exists());
    pythons.next().map_or("/usr/bin/python3".to_owned(), |path| path.to_string_lossy().into_owned())
}

fn table_builds(workloads: &[Workload]) -> Vec<Value> {
    let mut built: Vec<(String, f64)> = Vec::new();
    for mapped in workloads.iter().flat_map(|workload| &workload.modules) {
        let name = mapped.module.path().rsplit('/').next().unwrap_or_default().to_owned();
        if built.iter().all(|(known, _)| *known != name) {
            let begin = Instant::now();
            mapped.module.broken_cfi_entries();
            built.push((name, begin.elapsed().as_secs_f64() * 1e3));
        }
    }
    built.sort_by(|one, other| other.1.total_cmp(&one.1));
    built.truncate(6);
    built.into_iter().map(|(module, build_ms)| json!({ "module": module, "build_ms": build_ms })).collect()
}

fn main() {
    let store = ModuleStore::new();
    let spin = compile("spin.cc", &["-O2"]);
    let workloads = [
        Workload::copy("python, nested C", Command::new(python()).args(["-c", NESTED_PYTHON]), &store),
        Workload::copy("C++", &mut Command::new(&spin.path), &store),
    ];
    let builds = table_builds(&workloads);
    let results: Vec<Value> = workloads.iter().map(Workload::measure).collect();
    println!(
        "{:<18} {:>7} {:>8} {:>14} {:>14}",
        "workload", "depth", "roots", "stackclock ns", "framehop ns"
    );
    for result in &results {
        let number = |key: &str| result[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "{:<18} {:>7.1} {:>8} {:>14.2} {:>14.2}",
            result["workload"].as_str().unwrap_or_default(),
            number("frames_per_stack"),
            result["roots_reached"].as_str().unwrap_or_default(),
            number("stackclock_ns_per_frame"),
            number("framehop_ns_per_frame"),
        );
    }
    for build in &builds {
        println!(
            "table of {:<40} {:>7.2} ms",
            build["module"].as_str().unwrap_or_default(),
            build["build_ms"].as_f64().unwrap_or(0.0)
        );
    }
    println!("{}", json!({ "unwind": results, "tables": builds }));
}

//! Writes speedscope files.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::Number;
use stackclock_collapse::{self as collapse, FrameKind, Sample, StackId, ThreadId, View};

use crate::format::{File, Frame, Profile, SCHEMA, SampledProfile, Shared, ValueUnit};

/// Writes a view: a profile for each of its threads of which some time is shown (for all of them when that is
/// none). The thread with most time on a CPU is the one that speedscope opens with.
///
/// Process and thread frames are left out, since each profile is named for both.
pub fn write(view: &View<'_>, out: impl Write) -> io::Result<()> {
    let threads = threads(view);
    let busiest = (0..threads.len()).rev().max_by_key(|&at| threads[at].running_ns());
    let file = File {
        schema: SCHEMA.to_owned(),
        shared: Shared { frames: Frames(view) },
        profiles: Profiles { view, threads: &threads },
        name: Some(name(view)),
        active_profile_index: busiest,
        exporter: Some(concat!("stackclock@", env!("CARGO_PKG_VERSION")).to_owned()),
    };
    // Unbuffered, serde_json would make a system call of every bracket.
    let mut out = io::BufWriter::new(out);
    serde_json::to_writer(&mut out, &file)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// `python3 train.py: wall clock, on CPU or waiting for one`.
fn name(view: &View<'_>) -> String {
    let what = view.clock().describe();
    match view.profile().processes.first() {
        Some(process) if !process.name.is_empty() => format!("{}: {what}", process.name),
        _ => what.to_owned(),
    }
}

/// The samples of one thread in order of time, each with the stack it is shown as.
struct ThreadSamples<'p> {
    thread: ThreadId,
    samples: Vec<(&'p Sample, Option<StackId>)>,
}

impl ThreadSamples<'_> {
    fn shows_anything(&self) -> bool {
        self.samples.iter().any(|(_, stack)| stack.is_some())
    }

    fn running_ns(&self) -> u64 {
        let running = |sample: &Sample| sample.state == collapse::RunState::Running;
        self.samples.iter().filter(|(sample, _)| running(sample)).map(|(sample, _)| sample.weight_ns).sum()
    }
}

fn threads<'p>(view: &View<'p>) -> Vec<ThreadSamples<'p>> {
    let mut by_thread: Vec<Vec<_>> = vec![Vec::new(); view.profile().threads.len()];
    for (sample, stack) in view.samples() {
        by_thread[sample.thread.0 as usize].push((sample, stack));
    }
    let mut threads: Vec<ThreadSamples<'p>> = (view.threads())
        .map(|(thread, _)| ThreadSamples {
            thread,
            samples: std::mem::take(&mut by_thread[thread.0 as usize]),
        })
        .collect();
    if threads.iter().any(ThreadSamples::shows_anything) {
        threads.retain(ThreadSamples::shows_anything);
    }
    threads
}

/// A stretch of a thread's time; without a stack where nothing is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stretch {
    weight_ns: u64,
    stack: Option<StackId>,
}

/// The whole of a thread's time, neighbours with the same stack joined.
fn stretches(start_ns: u64, end_ns: u64, samples: &[(&Sample, Option<StackId>)]) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut add = |weight_ns: u64, stack: Option<StackId>| match stretches.last_mut() {
        _ if weight_ns == 0 => (),
        Some(last) if last.stack == stack => last.weight_ns += weight_ns,
        _ => stretches.push(Stretch { weight_ns, stack }),
    };
    let mut now_ns = start_ns;
    for (sample, stack) in samples {
        add(sample.at_ns.saturating_sub(now_ns), None);
        add(sample.weight_ns, *stack);
        now_ns = sample.at_ns.saturating_add(sample.weight_ns);
    }
    add(end_ns.saturating_sub(now_ns), None);
    stretches
}

/// All shown frames, at the places of their ids.
struct Frames<'v>(&'v View<'v>);

impl Serialize for Frames<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.frames().iter().map(|frame| Frame {
            name: frame.name.to_string(),
            file: frame.file.as_ref().or(frame.module.as_ref()).map(|file| file.to_string()),
            line: frame.line,
            col: None,
        }))
    }
}

struct Profiles<'v> {
    view: &'v View<'v>,
    threads: &'v [ThreadSamples<'v>],
}

impl Serialize for Profiles<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let profile = self.view.profile();
        serializer.collect_seq(self.threads.iter().map(|samples| {
            let thread = profile.thread(samples.thread);
            let stretches = stretches(thread.start_ns, thread.end_ns, &samples.samples);
            Profile::Sampled(SampledProfile {
                name: profile.thread_title(samples.thread),
                unit: ValueUnit::Nanoseconds,
                start_value: Number::from(thread.start_ns),
                end_value: Number::from(thread.end_ns),
                weights: Weights(stretches.clone()),
                samples: Stacks { view: self.view, stretches },
            })
        }))
    }
}

struct Stacks<'v> {
    view: &'v View<'v>,
    stretches: Vec<Stretch>,
}

impl Serialize for Stacks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let frames = self.view.frames();
        serializer.collect_seq(self.stretches.iter().map(|stretch| {
            let ids = stretch.stack.map(|stack| self.view.stack(stack)).unwrap_or_default();
            let is_shown = |place: &u32| frames[*place as usize].kind != FrameKind::Root;
            ids.into_iter().map(|id| id.0).filter(is_shown).collect::<Vec<u32>>()
        }))
    }
}

struct Weights(Vec<Stretch>);

impl Serialize for Weights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|stretch| stretch.weight_ns))
    }
}

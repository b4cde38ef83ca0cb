//! The final block on standard error: what was sampled, how well, and where it went.
//!
//! ```text
//! recorded  10.00 s of 1 process, 2 threads
//! ticks     998 of 1000 expected (99.8 Hz), 3 late, 2 missed
//! samples   1996
//! truncated 4: no unwind information 4
//! gil       held 71.3% of the time: 4242 MainThread 60.1%, 4250 worker 11.2%
//! paused    0.90% (0.090 s, summed over threads)
//! thread              on CPU   run queue      lived  by the kernel's count
//!   4242 MainThread    9.871       0.020     10.000  s
//!   4250 worker        0.000       0.000     10.000  s
//! warning: ...
//! wrote     4242-20260102T030405Z.svg  (xdg-open 4242-20260102T030405Z.svg)
//! ```

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::PathBuf;

use stackclock_collapse::{Profile, Thread, ThreadId};

use crate::error::OneLine;
use crate::figures::{percent, plural};
use crate::output::Format;
use crate::quality::QualityWarning;

/// Threads listed; the rest are added up in a line.
const LISTED_THREADS: usize = 10;
/// Threads named as holders of the GIL.
const LISTED_HOLDERS: usize = 3;
const NS_PER_S: f64 = 1e9;

/// A file that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its name.
    pub path: PathBuf,
    /// What it is.
    pub format: Format,
}

/// Prints as the final block.
#[derive(Debug)]
pub struct Summary<'a> {
    /// What was recorded.
    pub profile: &'a Profile,
    /// What is to be said about it.
    pub warnings: &'a [QualityWarning],
    /// Where it went.
    pub written: &'a [Written],
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_extent(out)?;
        self.write_gil(out)?;
        self.write_troubles(out)?;
        self.write_threads(out)?;
        for warning in self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        for file in self.written {
            let path = OneLine(file.path.display());
            writeln!(out, "wrote     {path}  ({})", viewer(file.format, &path.to_string()))?;
        }
        Ok(())
    }
}

impl Summary<'_> {
    fn write_extent(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Profile { recorded, counters, processes, threads, samples, .. } = self.profile;
        let seconds = recorded.duration_ns as f64 / NS_PER_S;
        writeln!(
            out,
            "recorded  {seconds:.2} s of {}, {}",
            plural(processes.len() as u64, "process", "processes"),
            plural(threads.len() as u64, "thread", "threads")
        )?;
        let expected = (seconds * recorded.rate_hz).round();
        let achieved = if seconds > 0.0 { counters.ticks as f64 / seconds } else { 0.0 };
        writeln!(
            out,
            "ticks     {} of {expected} expected ({achieved:.1} Hz), {} late, {} missed",
            counters.ticks, counters.late, counters.missed
        )?;
        let observed: u64 = samples.iter().map(|sample| u64::from(sample.observations)).sum();
        writeln!(out, "samples   {observed}")
    }

    /// For which share of the time a GIL was held, and by whom; of several processes, added up.
    fn write_gil(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut held_ns: BTreeMap<ThreadId, u64> = BTreeMap::new();
        for sample in self.profile.samples.iter().filter(|sample| sample.holds_gil) {
            *held_ns.entry(sample.thread).or_default() += sample.weight_ns;
        }
        if held_ns.is_empty() {
            return Ok(());
        }
        let share = |ns: u64| percent(ns as f64, self.profile.recorded.duration_ns as f64);
        let mut holders: Vec<(ThreadId, u64)> = held_ns.into_iter().collect();
        holders.sort_by_key(|&(thread, ns)| (Reverse(ns), thread));
        write!(out, "gil       held {:.1}% of the time:", share(holders.iter().map(|(_, ns)| ns).sum()))?;
        for (at, &(thread, ns)) in holders.iter().take(LISTED_HOLDERS).enumerate() {
            let Thread { tid, name, .. } = self.profile.thread(thread);
            let separator = if at == 0 { "" } else { "," };
            write!(out, "{separator} {tid} {} {:.1}%", OneLine(name), share(ns))?;
        }
        match holders.len().saturating_sub(LISTED_HOLDERS) {
            0 => writeln!(out),
            more => writeln!(out, ", {more} more"),
        }
    }

    fn write_troubles(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = &self.profile.counters;
        write_reasons(out, "failed", &counters.failed)?;
        write_reasons(out, "truncated", &counters.truncated)?;
        write_reasons(out, "incomplete", &counters.incomplete)?;
        for (label, count) in [("lost", counters.lost), ("skipped", counters.skipped)] {
            if count > 0 {
                writeln!(out, "{label:<9} {count}")?;
            }
        }
        let paused = percent(counters.stopped_ns as f64, self.profile.recorded.duration_ns as f64);
        let seconds = counters.stopped_ns as f64 / NS_PER_S;
        writeln!(out, "paused    {paused:.2}% ({seconds:.3} s, summed over threads)")
    }

    fn write_threads(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut threads: Vec<&Thread> = self.profile.threads.iter().collect();
        threads.sort_by_key(|thread| (Reverse(thread.totals.cpu_ns), thread.tid));
        let listed: Vec<(String, &Thread)> = (threads.iter().take(LISTED_THREADS))
            .map(|thread| (format!("{} {}", thread.tid, OneLine(&thread.name)), *thread))
            .collect();
        let Some(width) = listed.iter().map(|(label, _)| label.chars().count()).max() else { return Ok(()) };
        let width = width.clamp(6, 40);
        writeln!(
            out,
            "{:<width$}  {:>9} {:>9} {:>9}  seconds by the kernel's count",
            "threads", "on CPU", "run queue", "lived"
        )?;
        for (label, thread) in listed {
            write_times(out, width, &label, std::slice::from_ref(&thread))?;
        }
        match threads.get(LISTED_THREADS..) {
            Some(rest @ [_, ..]) => write_times(out, width, &format!("{} more", rest.len()), rest),
            _ => Ok(()),
        }
    }
}

/// The kernel's counts of some threads, added up, in seconds.
fn write_times(out: &mut fmt::Formatter<'_>, width: usize, label: &str, threads: &[&Thread]) -> fmt::Result {
    let seconds =
        |ns: fn(&Thread) -> u64| threads.iter().map(|thread| ns(thread) as f64).sum::<f64>() / NS_PER_S;
    let on_cpu = seconds(|thread| thread.totals.cpu_ns);
    let waiting = seconds(|thread| thread.totals.wait_ns);
    let lived = seconds(|thread| thread.end_ns.saturating_sub(thread.start_ns));
    let label: String = label.chars().take(width).collect();
    writeln!(out, "  {label:<width$}{on_cpu:>9.3} {waiting:>9.3} {lived:>9.3}")
}

fn write_reasons(out: &mut fmt::Formatter<'_>, label: &str, reasons: &[(String, u64)]) -> fmt::Result {
    let total: u64 = reasons.iter().map(|(_, count)| count).sum();
    if total == 0 {
        return Ok(());
    }
    let mut sorted: Vec<_> = reasons.iter().filter(|(_, count)| *count > 0).collect();
    sorted.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), reason));
    let mut text = String::new();
    for (at, (reason, count)) in sorted.into_iter().enumerate() {
        let separator = if at == 0 { "" } else { ", " };
        write!(text, "{separator}{reason} {count}")?;
    }
    writeln!(out, "{label:<9} {total}: {}", OneLine(text))
}

/// The command that shows a file of this format.
fn viewer(format: Format, path: &str) -> String {
    match format {
        Format::FlameGraph => format!("xdg-open {path}"),
        Format::Speedscope => format!("npx speedscope {path}"),
        Format::Pprof => format!("go tool pprof -http=: {path}"),
        Format::Folded => format!("less {path}"),
    }
}

#[cfg(test)]
mod tests {
    use stackclock_collapse::{Process, ProcessId, Recorded, RunState, Sample, StackId, ThreadTotals};

    use super::*;

    fn thread(tid: u32) -> Thread {
        let name = format!("worker\n{tid}");
        Thread {
            process: ProcessId(0),
            tid,
            name,
            start_ns: 0,
            end_ns: 1000,
            totals: ThreadTotals::default(),
        }
    }

    #[test]
    fn the_most_frequent_holders_of_the_gil_are_named() {
        let sample = |thread: u32, weight_ns, holds_gil| Sample {
            thread: ThreadId(thread),
            at_ns: 0,
            weight_ns,
            observations: 1,
            state: RunState::Running,
            stack: StackId::EMPTY,
            holds_gil,
        };
        let profile = Profile {
            recorded: Recorded { duration_ns: 1000, ..Recorded::default() },
            processes: vec![Process::default()],
            threads: (1..=4).map(thread).collect(),
            samples: vec![
                sample(0, 50, true),
                sample(1, 200, true),
                sample(0, 900, false),
                sample(2, 10, true),
                sample(3, 5, true),
            ],
            ..Profile::default()
        };
        let summary = Summary { profile: &profile, warnings: &[], written: &[] }.to_string();
        let line = summary.lines().find(|line| line.starts_with("gil")).unwrap();
        assert_eq!(
            line,
            "gil       held 26.5% of the time: 2 worker\\n2 20.0%, 1 worker\\n1 5.0%, 3 worker\\n3 1.0%, 1 more"
        );
    }
}

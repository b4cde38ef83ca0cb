//! `top --once`: one window as a table or as JSON.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;
use stackclock_collapse::table::Split;
use stackclock_sampler::{Live, LiveEnd};

use super::figures::{Figures, FunctionFigures, FunctionTime, ProcessFigures, ThreadFigures, ThreadTime};
use super::view::Choice;
use crate::error::{Error, Exit, NoSamples, OneLine};
use crate::figures::percent;
use crate::output::write_stdout;

/// Functions in the text table.
const LISTED: usize = 30;
/// How long is waited at a time.
const PATIENCE: Duration = Duration::from_millis(100);

/// How a window is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Tables for people.
    Text,
    /// JSON for programs.
    Json,
}

/// What `--once --json` prints; times in ns. Fields are added, never renamed or removed, without a new version.
#[derive(Debug, Serialize)]
struct Printed<'a> {
    /// Of this form: 1.
    version: u32,
    /// Length of the window.
    window_ns: u64,
    processes: &'a [ProcessFigures],
    /// All threads together.
    all_threads: ThreadTime,
    /// Most time on a CPU first.
    functions: Vec<PrintedFunction>,
    threads: Vec<PrintedThread<'a>>,
}

#[derive(Debug, Serialize)]
struct PrintedFunction {
    function: String,
    #[serde(flatten)]
    time: FunctionTime,
}

#[derive(Debug, Serialize)]
struct PrintedThread<'a> {
    pid: u32,
    tid: u32,
    name: &'a str,
    #[serde(flatten)]
    time: ThreadTime,
}

impl<'a> PrintedThread<'a> {
    fn of(row: &'a ThreadFigures) -> Self {
        PrintedThread { pid: row.pid, tid: row.tid, name: &row.name, time: row.time.last }
    }
}

/// Waits for one window and prints it.
pub fn print(mut live: Live, mut figures: Figures, form: Form) -> Result<Exit, Error> {
    loop {
        match live.next(PATIENCE) {
            Ok(window) => break figures.absorb(window.profile),
            Err(LiveEnd::NotYet) => {}
            Err(LiveEnd::Over) => return Err(NoSamples::Seen.into()),
        }
    }
    let exit = super::end(live)?;
    write_stdout(|out| match form {
        Form::Json => serde_json::to_writer_pretty(&mut *out, &printed(&figures))
            .map_err(Into::into)
            .and_then(|()| writeln!(out)),
        Form::Text => write_text(&figures, out),
    })?;
    Ok(exit)
}

fn printed(figures: &Figures) -> Printed<'_> {
    let choice = Choice::default();
    let function = |row: FunctionFigures| PrintedFunction { function: row.function, time: row.time.last };
    Printed {
        version: 1,
        window_ns: figures.last_ns,
        processes: &figures.processes,
        all_threads: figures.everything().last,
        functions: choice.functions(figures).into_iter().map(function).collect(),
        threads: choice.threads(figures).into_iter().map(PrintedThread::of).collect(),
    }
}

fn write_text(figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    let share = |ns: u64| format!("{:.1}%", percent(ns as f64, figures.last_ns as f64));
    let split = |split: &Split| {
        let Split { running_ns, runnable_ns, gil_ns, blocked_ns } = *split;
        [running_ns, runnable_ns, gil_ns, blocked_ns].map(|ns| format!("{:>9}", share(ns))).concat()
    };
    let choice = Choice::default();
    writeln!(
        out,
        "{:>8} {:>9}{:>9}{:>9}{:>9}{:>8}  function",
        "self", "total", "running", "runnable", "gil", "blocked"
    )?;
    for row in choice.functions(figures).iter().take(LISTED) {
        let FunctionTime { own, total } = &row.time.last;
        writeln!(
            out,
            "{:>8} {:>8}{}  {}",
            share(own.sum_ns()),
            share(total.sum_ns()),
            split(own),
            OneLine(&row.function)
        )?;
    }
    writeln!(out)?;
    writeln!(
        out,
        "{:>8} {:>9}{:>9}{:>9}{:>9}{:>8}  thread",
        "tid", "has GIL", "running", "runnable", "gil", "blocked"
    )?;
    for row in choice.threads(figures) {
        let ThreadTime { time, holds_gil_ns } = &row.time.last;
        writeln!(out, "{:>8} {:>8}{}  {}", row.tid, share(*holds_gil_ns), split(time), OneLine(&row.name))?;
    }
    Ok(())
}

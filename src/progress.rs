//! How a recording is going, while it goes.
//!
//! On a terminal one line, rewritten twice a second; elsewhere (a log, a pipe) one line when it begins. A
//! command that we launched shares the terminal with us and may be drawing on it, so it counts as elsewhere.

use std::fmt;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stackclock_sampler::{Progress, SessionOptions, Targets};

use crate::console;
use crate::error::OneLine;
use crate::figures::percent;
use crate::rate::Rate;

const BETWEEN_LINES: Duration = Duration::from_millis(500);

/// Shows the progress of one recording.
#[derive(Debug)]
pub struct ProgressLine {
    bar: ProgressBar,
    shown_at: Instant,
}

impl ProgressLine {
    /// Says what begins.
    pub fn begin(session: &SessionOptions, rate: Rate) -> Self {
        let alone = matches!(session.targets, Targets::Attach(_));
        let beginning = start_line(session, rate);
        let bar = if alone && console::is_terminal() {
            let style = ProgressStyle::with_template("{msg}").unwrap_or(ProgressStyle::default_spinner());
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style);
            bar.set_message(beginning);
            bar
        } else {
            console::line(beginning);
            ProgressBar::hidden()
        };
        ProgressLine { bar, shown_at: Instant::now() }
    }

    /// Shows the figures, if the last ones have been there for half a second.
    pub fn show(&mut self, progress: &Progress) {
        if self.shown_at.elapsed() < BETWEEN_LINES {
            return;
        }
        self.shown_at = Instant::now();
        self.bar.set_message(figures(progress).to_string());
    }

    /// Says what is being done now that sampling is over.
    pub fn say(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    /// Takes the line away.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

fn start_line(session: &SessionOptions, rate: Rate) -> String {
    let whom = match &session.targets {
        Targets::Attach(pids) => match pids.as_slice() {
            [pid] => format!("process {pid}"),
            pids => format!("{} processes", pids.len()),
        },
        Targets::Launch(command) => {
            let program = command.first().map(|program| program.to_string_lossy());
            OneLine(program.unwrap_or_default()).to_string()
        }
    };
    let until = match session.duration {
        Some(duration) => format!("for {} s", duration.as_secs_f64()),
        None => "until Ctrl-C or its end".to_owned(),
    };
    format!("stackclock: recording {whom} at {rate} {until}")
}

/// `12.4s  1240 ticks  9921 samples  3 errors  0.4% late  target paused 0.9%`
fn figures(progress: &Progress) -> impl fmt::Display {
    let late = percent(progress.late as f64, progress.ticks as f64);
    let paused = percent(progress.stopped.as_secs_f64(), progress.elapsed.as_secs_f64());
    format!(
        "{:.1}s  {} ticks  {} samples  {} errors  {late:.1}% late  target paused {paused:.1}%",
        progress.elapsed.as_secs_f64(),
        progress.ticks,
        progress.samples,
        progress.errors,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_figures_in_their_order() {
        let progress = Progress {
            elapsed: Duration::from_millis(12_400),
            ticks: 1240,
            samples: 9921,
            errors: 3,
            late: 5,
            stopped: Duration::from_micros(111_600),
        };
        assert_eq!(
            figures(&progress).to_string(),
            "12.4s  1240 ticks  9921 samples  3 errors  0.4% late  target paused 0.9%"
        );
    }
}

//! `stackclock top`: live in the terminal.
//!
//! ```text
//!   sampler::Live ── a profile a second ──► Figures ──► Screen ──► terminal       (live.rs: the loop around it)
//!                                              └──────► text, JSON                (--once)
//! ```

mod figures;
mod live;
mod once;
mod screen;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use stackclock_sampler::{Live, SessionOptions, Stops, Streams, Targets};

use crate::cli::TopArgs;
use crate::error::{Error, Exit};
use crate::options::{resolve_frames, resolve_subprocesses, resolve_targets, shown_code};
use crate::usage::UsageError;
use figures::Figures;
use once::Form;

/// Figures are renewed this often.
const WINDOW: Duration = Duration::from_secs(1);

/// Watches until told to quit, or for one window.
pub fn top(args: TopArgs) -> Result<Exit, Error> {
    let has_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    if !(args.once || has_terminal) {
        return Err(UsageError::new(
            "top needs a terminal to draw on",
            "standard input or output is none",
            "add --once for a table, --once --json for JSON",
        )
        .into());
    }
    let frames = resolve_frames(&args.frames);
    let targets = resolve_targets(args.pid, args.command);
    let launches = matches!(targets, Targets::Launch(_));
    let options = SessionOptions {
        targets,
        streams: Streams::Null,
        interval: args.rate.interval(),
        duration: None,
        subprocesses: resolve_subprocesses(args.subprocesses),
        frames,
        stops: Stops::Allowed,
    };
    let live = Live::start(options, WINDOW).map_err(|error| match launches {
        true => Error::from(error).before_launch(),
        false => error.into(),
    })?;
    let figures = Figures::new(shown_code(frames));
    match (args.once, args.json) {
        (true, true) => once::print(live, figures, Form::Json),
        (true, false) => once::print(live, figures, Form::Text),
        (false, _) => live::show(live, figures),
    }
}

/// Ends the recording, and the command that was launched for it; the status of one that has ended by itself is ours.
fn end(live: Live) -> Result<Exit, Error> {
    let Some(child) = live.end()? else { return Ok(Exit::Success) };
    if !child.has_ended() {
        child.terminate();
        child.wait();
        return Ok(Exit::Success);
    }
    Ok(child.wait().map_or(Exit::Failure, Exit::of_child))
}

//! The `stackclock` command.
//!
//! ```text
//!   cli ───────── options ──────── record ─────── summary, quality
//!   what was      what it means    what happens   what came of it
//!   typed         (or usage)       (or error)
//! ```
//!
//! Only [`main`] ends the process; everything else returns.
#![forbid(unsafe_code)]

mod cli;
mod console;
mod diff;
mod doctor;
mod dump;
mod duration;
mod error;
mod figures;
mod input;
mod options;
mod output;
mod progress;
mod quality;
mod rate;
mod record;
mod refusal;
mod report;
mod sampler_error;
mod signals;
mod summary;
mod top;
mod usage;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use cli::{Cli, Command};
use error::{Error, Exit};
use usage::UsageError;

fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        Err(error) => answer_of_clap(&error),
    };
    ExitCode::from(exit.code())
}

fn run(command: Command) -> Exit {
    let result = match command {
        Command::Record(args) => record::record(args),
        Command::Report(args) => report::report(args),
        Command::Top(args) => top::top(args),
        Command::Diff(args) => diff::diff(args),
        Command::Dump(args) => dump::dump(args),
        Command::Doctor(args) => doctor::doctor(&args),
    };
    result.unwrap_or_else(|error| {
        console::text(error.report());
        error.exit()
    })
}

/// Help and version are answers, on standard output; the rest are mistakes.
fn answer_of_clap(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Whoever closed the pipe has read enough.
            let _ = error.print();
            Exit::Success
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Exit::Usage
        }
        _ => {
            let subcommand = std::env::args_os().nth(1).and_then(|name| name.into_string().ok());
            let error = Error::from(UsageError::from_clap(error, subcommand.as_deref()));
            console::text(error.report());
            error.exit()
        }
    }
}

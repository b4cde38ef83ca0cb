//! The command line exactly as it was typed; what it means is decided in `options`.

mod diff;
mod doctor;
mod dump;
mod record;
mod report;
mod top;

use clap::{Parser, Subcommand};
use regex::Regex;

pub use diff::DiffArgs;
pub use doctor::DoctorArgs;
pub use dump::DumpArgs;
pub use record::{BackendArg, FramesArgs, ModeArg, OutputArgs, RecordArgs, ViewArgs};
pub use report::{ReportArgs, ShownArgs, SortArg};
pub use top::TopArgs;

/// Wall-clock sampling profiler for Python and C++ processes on Linux.
#[derive(Debug, Parser)]
#[command(name = "stackclock", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sample processes for a while and write where their time went
    Record(RecordArgs),
    /// Show live in the terminal where the time of processes goes
    Top(TopArgs),
    /// Say what every thread of some processes is doing now, with its stack
    Dump(DumpArgs),
    /// Show a written profile as a table, or write it in another format
    Report(ReportArgs),
    /// Say what got slower from one written profile to another
    Diff(DiffArgs),
    /// Say what works on this machine and what does not, and what to do about it
    Doctor(DoctorArgs),
}

/// A regular expression; of the parser's drawing of the mistake only the last line, which names it, is kept.
fn parse_pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let drawing = error.to_string();
        let reason = drawing.lines().last().unwrap_or_default();
        reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
    })
}

/// A process id in decimal or, as py-spy takes it, hexadecimal (`0x1f`).
fn parse_pid(text: &str) -> Result<u32, &'static str> {
    let parsed = match text.strip_prefix("0x") {
        Some(hexadecimal) => i32::from_str_radix(hexadecimal, 16),
        None => text.parse(),
    };
    match parsed.map(u32::try_from) {
        Ok(Ok(pid)) if pid > 0 => Ok(pid),
        _ => Err("a process id is a positive whole number"),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_bad_pattern_is_explained_in_one_line() {
        assert_eq!(parse_pattern("a(").unwrap_err(), "unclosed group");
    }

    #[test]
    fn process_ids_are_positive_numbers() {
        assert_eq!(parse_pid("4242"), Ok(4242));
        for text in ["0", "-1", "4294967297", "2147483648", "abc", "", "0x", "1.5"] {
            assert!(parse_pid(text).is_err(), "{text:?}");
        }
    }
}

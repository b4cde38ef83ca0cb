//! The command line exactly as it was typed; what it means is decided in `options`.

mod record;
mod report;

use clap::{Parser, Subcommand};
use regex::Regex;

pub use record::{BackendArg, ModeArg, OutputArgs, RecordArgs, SamplingArgs, ViewArgs};
pub use report::{ReportArgs, SortArg};

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
    /// Show a written profile as a table, or write it in another format
    Report(ReportArgs),
}

/// A regular expression; of the parser's drawing of the mistake only the last line, which names it, is kept.
fn parse_pattern(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|error| {
        let drawing = error.to_string();
        let reason = drawing.lines().last().unwrap_or_default();
        reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
    })
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
}

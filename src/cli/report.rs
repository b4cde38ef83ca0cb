//! `stackclock report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use regex::Regex;
use stackclock_collapse::table::Sort;

use super::parse_pattern;
use crate::output::Format;
use crate::rate::Rate;

/// `stackclock report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folded, speedscope or pprof file, of any program that writes them; `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    #[command(flatten)]
    pub shown: ShownArgs,

    /// Order of the table
    #[arg(long, value_name = "KEY", default_value = "self", help_heading = "Table")]
    pub sort: SortArg,

    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = "Table")]
    pub limit: usize,

    /// The table as JSON, times in nanoseconds
    #[arg(long, help_heading = "Table")]
    pub json: bool,

    /// Write this file in place of a table, `-` for standard output; repeatable. Its ending says the format
    #[arg(short, long, value_name = "FILE", help_heading = "Conversion")]
    #[arg(conflicts_with_all = ["json", "sort", "limit"])]
    pub output: Vec<PathBuf>,

    /// Format, where the file name does not say it
    #[arg(short, long, value_name = "FORMAT", requires = "output", help_heading = "Conversion")]
    pub format: Option<Format>,
}

/// How files are read, and which part of them is shown.
#[derive(Debug, Args)]
pub struct ShownArgs {
    /// The numbers in a folded file are samples taken at this rate, not microseconds
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub samples_at: Option<Rate>,

    /// Only stacks in which a frame matches
    #[arg(long, value_name = "REGEX", value_parser = parse_pattern, help_heading = "What is shown")]
    pub focus: Option<Regex>,

    /// No stacks in which a frame matches
    #[arg(long, value_name = "REGEX", value_parser = parse_pattern, help_heading = "What is shown")]
    pub ignore: Option<Regex>,

    /// Only threads whose name matches
    #[arg(long, value_name = "REGEX", value_parser = parse_pattern, help_heading = "What is shown")]
    pub thread: Option<Regex>,
}

/// Values of `--sort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortArg {
    /// Time in the function itself
    #[value(name = "self")]
    Own,
    /// Time in the function and what it called
    Total,
}

impl From<SortArg> for Sort {
    fn from(sort: SortArg) -> Sort {
        match sort {
            SortArg::Own => Sort::SelfTime,
            SortArg::Total => Sort::TotalTime,
        }
    }
}

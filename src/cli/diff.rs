//! `stackclock diff`.

use std::path::PathBuf;

use clap::Args;

use super::{ShownArgs, SortArg};
use crate::input::Points;

/// `stackclock diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// What it was before: a file of any format that report reads
    #[arg(value_name = "BASE")]
    pub base: PathBuf,

    /// What it is now
    #[arg(value_name = "NEW")]
    pub new: PathBuf,

    #[command(flatten)]
    pub shown: ShownArgs,

    /// By which growth the functions are sorted, most first
    #[arg(long, value_name = "KEY", default_value = "self", help_heading = "Table")]
    pub sort: SortArg,

    /// Rows of the table
    #[arg(long, value_name = "N", default_value_t = 30, help_heading = "Table")]
    pub limit: usize,

    /// The table as JSON, times in nanoseconds, shares from 0 to 1
    #[arg(long, help_heading = "Table")]
    pub json: bool,

    /// Draw a flame graph in place of a table: red grew, blue shrank; `-` for standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Picture")]
    #[arg(conflicts_with_all = ["json", "sort", "limit"])]
    pub output: Option<PathBuf>,

    /// Exit with status 1 when the own or total share of a function in the wall time grew by more than this many
    /// percent of the wall time
    #[arg(long, value_name = "PERCENT", help_heading = "Check")]
    pub fail_above: Option<Points>,
}

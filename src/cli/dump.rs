//! `stackclock dump`.

use clap::Args;

use super::{FramesArgs, parse_pid};

const EXIT_CODES: &str =
    "Exit status: 0 printed, 1 failure, 2 usage, 3 no such process, 4 permission denied.";

/// `stackclock dump`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct DumpArgs {
    /// Process to look at; repeatable
    #[arg(short, long, value_name = "PID", value_parser = parse_pid, required = true)]
    #[arg(allow_negative_numbers = true)]
    pub pid: Vec<u32>,

    /// Look at its descendants too
    #[arg(short, long)]
    pub subprocesses: bool,

    #[command(flatten)]
    pub frames: FramesArgs,

    /// Whole paths of files
    #[arg(long)]
    pub full_filenames: bool,

    /// JSON in place of text
    #[arg(short, long)]
    pub json: bool,
}

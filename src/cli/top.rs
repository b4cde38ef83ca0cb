//! `stackclock top`.

use std::ffi::OsString;

use clap::{ArgGroup, Args};

use super::{FramesArgs, parse_pid};
use crate::rate::Rate;

const KEYS: &str = "\
Keys: q quit, s sort, t threads or functions, f or / filter, p pause, ? help. \
Percentages are of the time of one thread: 200% is two threads all the time.";

/// `stackclock top`.
#[derive(Debug, Args)]
#[command(
    override_usage = "stackclock top [OPTIONS] <-p PID... | -- COMMAND [ARGS]...>",
    group(ArgGroup::new("target").args(["pid", "command"]).required(true)),
    after_help = KEYS
)]
pub struct TopArgs {
    /// Process to watch; repeatable
    #[arg(short, long, value_name = "PID", value_parser = parse_pid)]
    #[arg(allow_negative_numbers = true)]
    pub pid: Vec<u32>,

    /// Command to start and watch, without input and output; it is ended with top
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid")]
    pub command: Vec<OsString>,

    /// Watch child processes too, those there are and those to come
    #[arg(short, long)]
    pub subprocesses: bool,

    /// Samples a second of each thread: 100, 1khz, 10k
    #[arg(short, long, value_name = "RATE", default_value = "100", allow_negative_numbers = true)]
    pub rate: Rate,

    #[command(flatten)]
    pub frames: FramesArgs,

    /// Watch for one second, print, and end
    #[arg(long)]
    pub once: bool,

    /// Print JSON, times in nanoseconds
    #[arg(short, long, requires = "once")]
    pub json: bool,
}

//! `stackclock record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use regex::Regex;

use super::{parse_pattern, parse_pid};
use crate::duration::RecordingLength;
use crate::output::Format;
use crate::rate::Rate;

const EXIT_CODES: &str = "\
Exit status: 0 written, 1 failure, 2 usage, 3 no such process, 4 permission denied, 5 no samples. \
After `-- COMMAND` it is the command's own (128+n for signal n), or 125 when stackclock failed before the \
command began, 126 when the command cannot be run, 127 when it is not found.";

/// `stackclock record`.
#[derive(Debug, Args)]
#[command(
    override_usage = "stackclock record [OPTIONS] <-p PID... | -- COMMAND [ARGS]...>",
    group(ArgGroup::new("target").args(["pid", "command"]).required(true)),
    after_help = EXIT_CODES
)]
pub struct RecordArgs {
    /// Process to sample; repeatable
    #[arg(short, long, value_name = "PID", value_parser = parse_pid, help_heading = "Target")]
    #[arg(allow_negative_numbers = true)]
    pub pid: Vec<u32>,

    /// Command to start and sample from its first instruction
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid", help_heading = "Target")]
    pub command: Vec<OsString>,

    /// Sample child processes too, those there are and those to come
    #[arg(short, long, help_heading = "Target")]
    pub subprocesses: bool,

    #[command(flatten)]
    pub sampling: SamplingArgs,

    #[command(flatten)]
    pub view: ViewArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// How often, how long and by which means.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sampling")]
pub struct SamplingArgs {
    /// Samples a second of each thread: 100, 1khz, 10k
    #[arg(short, long, value_name = "RATE", default_value = "100", allow_negative_numbers = true)]
    pub rate: Rate,

    /// Mean time between two samples of a thread, in place of a rate: 10ms
    #[arg(long, value_name = "TIME", value_parser = Rate::parse_interval, conflicts_with = "rate")]
    #[arg(allow_negative_numbers = true)]
    pub interval: Option<Rate>,

    /// How long: 30, 1.5s, 2m; without it until Ctrl-C or until the targets end
    #[arg(short, long, value_name = "TIME", default_value = "unlimited", hide_default_value = true)]
    #[arg(allow_negative_numbers = true)]
    pub duration: RecordingLength,

    /// Means of looking at the targets
    #[arg(long, value_name = "BACKEND", default_value = "auto")]
    pub backend: BackendArg,

    /// Never stop anything: of threads that run, only those Python frames are seen that hold still meanwhile
    #[arg(long)]
    pub nonblocking: bool,

    #[command(flatten)]
    pub frames: FramesArgs,
}

/// Which frames are collected.
#[derive(Debug, Args)]
pub struct FramesArgs {
    /// Native frames beside Python frames (this is the default)
    #[arg(short, long, overrides_with = "no_native", conflicts_with = "native_only")]
    pub native: bool,

    /// Python frames only
    #[arg(long, overrides_with = "native", conflicts_with = "native_only")]
    pub no_native: bool,

    /// Native frames only; the interpreter is shown as the C program it is
    #[arg(long)]
    pub native_only: bool,
}

/// Values of `--backend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendArg {
    /// The best that works here
    Auto,
    /// Stop only threads that run, one by one; needs no root for one's own processes
    Ptrace,
    /// Stop nothing; needs root; not in this version
    Bpf,
}

/// Which part of the recorded time is written, and how frames are named.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is shown")]
pub struct ViewArgs {
    /// Time off the CPU too: the whole wall clock (as --mode wall)
    #[arg(short, long, conflicts_with = "mode")]
    pub idle: bool,

    /// Which time; without it, threads that run or wait for a CPU
    #[arg(long, value_name = "MODE", conflicts_with = "gil")]
    pub mode: Option<ModeArg>,

    /// Only time in which the thread holds the GIL (as --mode gil)
    #[arg(short, long)]
    pub gil: bool,

    /// Thread names and ids as the outermost frames
    #[arg(short, long)]
    pub threads: bool,

    /// Only threads whose name matches
    #[arg(long, value_name = "REGEX", value_parser = parse_pattern)]
    pub thread: Option<Regex>,

    /// One frame a function, whatever line it was at
    #[arg(short = 'F', long)]
    pub function: bool,

    /// No line numbers
    #[arg(long)]
    pub nolineno: bool,

    /// Whole paths of Python files
    #[arg(long)]
    pub full_filenames: bool,
}

/// Values of `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// All time
    Wall,
    /// On a CPU
    Cpu,
    /// Not on a CPU
    Offcpu,
    /// Holding the GIL
    Gil,
}

/// Where results go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// File to write, `-` for standard output; repeatable. Its ending says the format: .svg flame graph,
    /// .json speedscope, .pb.gz pprof, .folded .collapsed .txt folded stacks. Without it, a new
    /// PROGRAM-or-PID-TIME file in the current directory
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format, where the file name does not say it
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// Numbers of samples in folded stacks, in place of microseconds
    #[arg(long)]
    pub counts: bool,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn record(line: &str) -> Result<RecordArgs, clap::Error> {
        let words = ["stackclock", "record"].into_iter().chain(line.split_whitespace());
        Cli::try_parse_from(words).map(|cli| match cli.command {
            Command::Record(args) => args,
            other => panic!("not record: {other:?}"),
        })
    }

    #[test]
    fn py_spys_way_to_write_a_recording_parses() {
        let args = record("-p 0x10 -r 200 -d 5 -o a.svg -f flamegraph -n -i -g -s -t -F --nolineno").unwrap();
        assert_eq!(args.pid, [16]);
        assert_eq!(args.sampling.rate.hertz(), 200.0);
        assert_eq!(args.output.output, [PathBuf::from("a.svg")]);
        assert_eq!(args.output.format, Some(Format::FlameGraph));
    }

    #[test]
    fn everything_after_two_dashes_is_the_command() {
        let args = record("-r 10 -- python3 train.py -p 5 -- -x").unwrap();
        assert_eq!(args.command, ["python3", "train.py", "-p", "5", "--", "-x"]);
        assert!(args.pid.is_empty());
    }

    #[test]
    fn the_later_of_native_and_no_native_counts() {
        let args = record("-p 1 --no-native -n").unwrap();
        assert!(args.sampling.frames.native && !args.sampling.frames.no_native);
        let args = record("-p 1 -n --no-native").unwrap();
        assert!(!args.sampling.frames.native && args.sampling.frames.no_native);
    }
}

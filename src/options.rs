//! What a command line means: defaults filled in, contradictions refused, names turned into types.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use stackclock_collapse::folded::Numbers;
use stackclock_collapse::{Clock, Code, FileNames, Lines, Threads, ViewOptions};
use stackclock_sampler::{FrameSelection, SessionOptions, Stops, Streams, Subprocesses, Targets};

use crate::cli::{BackendArg, FramesArgs, ModeArg, OutputArgs, RecordArgs, ViewArgs};
use crate::duration::RecordingLength;
use crate::error::Error;
use crate::output::{Output, chosen_stem};
use crate::rate::Rate;
use crate::usage::UsageError;

/// What `record` is to do.
#[derive(Debug)]
pub struct RecordOptions {
    /// What to sample.
    pub session: SessionOptions,
    /// The rate as it was asked for.
    pub rate: Rate,
    /// Which part is written, and how.
    pub view: ViewOptions,
    /// What the numbers of folded stacks count.
    pub folded_numbers: Numbers,
    /// Where to; at least one.
    pub outputs: Vec<Output>,
}

impl RecordOptions {
    /// Decides everything that the command line left open.
    pub fn resolve(args: RecordArgs) -> Result<Self, Error> {
        refuse_backend(args.sampling.backend)?;
        let targets = resolve_targets(args.pid, args.command);
        let rate = args.sampling.interval.unwrap_or(args.sampling.rate);
        let frames = resolve_frames(&args.sampling.frames);
        let folded_numbers = match args.output.counts {
            true => Numbers::Samples { interval_ns: rate.interval_ns() },
            false => Numbers::Microseconds,
        };
        Ok(RecordOptions {
            outputs: resolve_outputs(args.output, &targets)?,
            view: resolve_view(args.view, frames),
            folded_numbers,
            rate,
            session: SessionOptions {
                streams: Streams::Ours,
                targets,
                interval: rate.interval(),
                duration: resolve_duration(args.sampling.duration),
                subprocesses: resolve_subprocesses(args.subprocesses),
                frames,
                stops: if args.sampling.nonblocking { Stops::Never } else { Stops::Allowed },
            },
        })
    }
}

fn refuse_backend(backend: BackendArg) -> Result<(), UsageError> {
    match backend {
        BackendArg::Auto | BackendArg::Ptrace => Ok(()),
        BackendArg::Bpf => Err(UsageError::new(
            "the bpf backend does not exist yet",
            "this version samples by ptrace only",
            "leave --backend out, or say --backend ptrace",
        )),
    }
}

/// clap has seen to it that there is a process or a command, and not both.
pub fn resolve_targets(pids: Vec<u32>, command: Vec<OsString>) -> Targets {
    if !command.is_empty() {
        return Targets::Launch(command);
    }
    Targets::Attach(each_once(pids))
}

/// The same process twice is once.
pub fn each_once(mut pids: Vec<u32>) -> Vec<u32> {
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Whether children are targets too, from `-s`.
pub fn resolve_subprocesses(follow: bool) -> Subprocesses {
    if follow { Subprocesses::Follow } else { Subprocesses::Ignore }
}

fn resolve_duration(length: RecordingLength) -> Option<Duration> {
    match length {
        RecordingLength::Unlimited => None,
        RecordingLength::Limited(duration) => Some(duration.get()),
    }
}

/// Which frames are to be collected.
pub fn resolve_frames(args: &FramesArgs) -> FrameSelection {
    match (args.no_native, args.native_only) {
        (true, _) => FrameSelection::PythonOnly,
        (_, true) => FrameSelection::NativeOnly,
        _ => FrameSelection::Merged,
    }
}

fn resolve_outputs(args: OutputArgs, targets: &Targets) -> Result<Vec<Output>, Error> {
    let stem = || chosen_stem(&subject(targets), jiff::Timestamp::now());
    Ok(Output::resolve(args.output, args.format, stem)?)
}

/// What a file that we name is named after: the program, or the first process.
fn subject(targets: &Targets) -> OsString {
    match targets {
        Targets::Attach(pids) => pids.first().copied().unwrap_or_default().to_string().into(),
        Targets::Launch(command) => {
            let program = command.first().map(OsString::as_os_str).unwrap_or_default();
            Path::new(program).file_name().unwrap_or(OsStr::new("command")).to_owned()
        }
    }
}

/// What is shown of the frames that were collected.
pub fn shown_code(frames: FrameSelection) -> Code {
    match frames {
        FrameSelection::Merged => Code::All,
        FrameSelection::PythonOnly => Code::Python,
        FrameSelection::NativeOnly => Code::Native,
    }
}

fn resolve_view(args: ViewArgs, frames: FrameSelection) -> ViewOptions {
    let clock = match args.mode {
        Some(ModeArg::Wall) => Clock::WallClock,
        Some(ModeArg::Cpu) => Clock::Cpu,
        Some(ModeArg::Offcpu) => Clock::OffCpu,
        Some(ModeArg::Gil) => Clock::Gil,
        None if args.gil => Clock::Gil,
        None if args.idle => Clock::WallClock,
        None => Clock::OnCpu,
    };
    ViewOptions {
        clock,
        threads: if args.threads { Threads::Separate } else { Threads::Merged },
        lines: if args.function || args.nolineno { Lines::Dropped } else { Lines::Shown },
        files: if args.full_filenames { FileNames::Full } else { FileNames::default() },
        code: shown_code(frames),
        thread_name: args.thread,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::error::Exit;

    fn resolve(line: &str) -> Result<RecordOptions, Error> {
        let words = ["stackclock", "record"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).unwrap().command {
            Command::Record(args) => RecordOptions::resolve(args),
            other => panic!("not record: {other:?}"),
        }
    }

    #[test]
    fn the_defaults_are_py_spys() {
        let options = resolve("-p 42").unwrap();
        assert_eq!(options.rate.hertz(), 100.0);
        assert_eq!(options.session.duration, None);
        assert_eq!(options.session.subprocesses, Subprocesses::Ignore);
        assert_eq!(options.view.clock, Clock::OnCpu);
        assert_eq!(options.view.lines, Lines::Shown);
        assert_eq!(options.folded_numbers, Numbers::Microseconds);
    }

    #[test]
    fn native_frames_are_the_default() {
        let frames = |line: &str| resolve(line).unwrap().session.frames;
        assert_eq!(frames("-p 42"), FrameSelection::Merged);
        assert_eq!(frames("-p 42 --native"), FrameSelection::Merged);
        assert_eq!(frames("-p 42 --no-native"), FrameSelection::PythonOnly);
        assert_eq!(frames("-p 42 --native-only"), FrameSelection::NativeOnly);
    }

    #[test]
    fn nothing_is_stopped_when_told_not_to() {
        assert_eq!(resolve("-p 42").unwrap().session.stops, Stops::Allowed);
        assert_eq!(resolve("-p 42 --nonblocking").unwrap().session.stops, Stops::Never);
    }

    #[test]
    fn each_flag_for_a_clock_has_its_mode() {
        let clock = |line: &str| resolve(line).unwrap().view.clock;
        assert_eq!(clock("-p 42 -i"), Clock::WallClock);
        assert_eq!(clock("-p 42 --mode wall"), Clock::WallClock);
        assert_eq!(clock("-p 42 --mode cpu"), Clock::Cpu);
        assert_eq!(clock("-p 42 --mode offcpu"), Clock::OffCpu);
        assert_eq!(clock("-p 42 -g"), Clock::Gil);
        assert_eq!(clock("-p 42 -i -g"), Clock::Gil);
    }

    #[test]
    fn an_interval_replaces_the_rate() {
        assert_eq!(resolve("-p 42 --interval 2ms").unwrap().session.interval, Duration::from_millis(2));
        assert_eq!(resolve("-p 42 -r 1khz").unwrap().session.interval, Duration::from_millis(1));
    }

    #[test]
    fn the_same_process_twice_is_one_target() {
        match resolve("-p 42 -p 7 -p 42").unwrap().session.targets {
            Targets::Attach(pids) => assert_eq!(pids, [7, 42]),
            Targets::Launch(_) => panic!("no command was given"),
        }
    }

    #[test]
    fn a_backend_that_does_not_exist_is_a_mistake_of_usage() {
        assert_eq!(resolve("-p 42 --backend bpf").unwrap_err().exit(), Exit::Usage);
        assert!(resolve("-p 42 --backend ptrace").is_ok());
    }

    #[test]
    fn files_are_named_after_the_program_or_the_process() {
        let command = |words: &[&str]| Targets::Launch(words.iter().map(OsString::from).collect());
        assert_eq!(subject(&Targets::Attach(vec![42, 43])), "42");
        assert_eq!(subject(&command(&["/usr/bin/python3", "train.py"])), "python3");
        assert_eq!(subject(&command(&[".."])), "command");
    }
}

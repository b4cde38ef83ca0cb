//! Failures as people read them: three lines on standard error.
//!
//! ```text
//! error: cannot write 'missing/a.svg'                 what did not work
//! cause: No such file or directory (os error 2)       which check said so
//! help: mkdir -p missing                              the one thing to try
//! ```
//!
//! Each area has an error type of its own, whose variants know their cause, their help and their exit status.

use std::fmt;
use std::io;

use stackclock_sampler::{ChildEnd, SamplerError};
use thiserror::Error;

use crate::input::InputError;
use crate::output::{OutputConflict, OutputError};
use crate::usage::UsageError;

/// What the exit status says when it is our own (and not that of a command that we launched).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, and written.
    Success,
    /// Something did not work.
    Failure,
    /// The command line makes no sense.
    Usage,
    /// There is no such process.
    NoSuchProcess,
    /// The kernel does not let us look.
    Permission,
    /// Nothing was sampled; the outputs are valid and empty.
    NoSamples,
    /// In launch mode: we failed before the command began.
    BeforeLaunch,
    /// In launch mode: the command cannot be run.
    CannotRun,
    /// In launch mode: there is no such command.
    NotFound,
    /// In launch mode: the status of the command.
    OfChild(u8),
}

impl Exit {
    /// The status of a command as a shell would say it: its own, or 128 + n when signal n ended it.
    pub fn of_child(end: ChildEnd) -> Exit {
        let code = match end {
            ChildEnd::Exited(code) => code,
            ChildEnd::Signaled(signal) => 128 + signal,
        };
        // wait(2) gives eight bits of an exit status, and signals end at 64.
        Exit::OfChild(u8::try_from(code).unwrap_or(u8::MAX))
    }

    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::NoSuchProcess => 3,
            Exit::Permission => 4,
            Exit::NoSamples => 5,
            Exit::BeforeLaunch => 125,
            Exit::CannotRun => 126,
            Exit::NotFound => 127,
            Exit::OfChild(code) => code,
        }
    }
}

/// An error that can explain itself. Its `Display` is the first line, without a full stop.
pub trait Explain: fmt::Display {
    /// Which check failed, or what the kernel answered.
    fn cause(&self) -> String;
    /// The one command, or the one change of the command line, to try.
    fn help(&self) -> String;
    /// What our exit status becomes.
    fn exit(&self) -> Exit;
}

/// Any failure of a command.
#[derive(Debug, Error)]
pub enum Error {
    /// The command line makes no sense.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The outputs contradict themselves.
    #[error(transparent)]
    OutputConflict(#[from] OutputConflict),
    /// An output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A profile cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A target cannot be sampled.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// Ctrl-C could not be taken over.
    #[error(transparent)]
    Signals(#[from] SignalError),
    /// The terminal cannot be drawn on.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
    /// The outputs are written, and empty.
    #[error(transparent)]
    NoSamples(#[from] NoSamples),
    /// Any of these before a command that we were to launch began.
    #[error(transparent)]
    BeforeLaunch(Box<Error>),
}

impl Error {
    /// The error of its area.
    fn explanation(&self) -> &dyn Explain {
        match self {
            Error::Usage(error) => error,
            Error::OutputConflict(error) => error,
            Error::Output(error) => error,
            Error::Input(error) => error,
            Error::Sampler(error) => error,
            Error::Signals(error) => error,
            Error::Terminal(error) => error,
            Error::NoSamples(error) => error,
            Error::BeforeLaunch(error) => error.explanation(),
        }
    }

    /// The same error in launch mode, where our own failures have a status that commands do not use; whether a
    /// command can be run is no failure of ours.
    pub fn before_launch(self) -> Error {
        match self {
            Error::Sampler(SamplerError::CannotLaunch { .. }) => self,
            error => Error::BeforeLaunch(Box::new(error)),
        }
    }

    /// What our exit status becomes.
    pub fn exit(&self) -> Exit {
        match self {
            Error::BeforeLaunch(_) => Exit::BeforeLaunch,
            error => error.explanation().exit(),
        }
    }

    /// The three lines.
    pub fn report(&self) -> String {
        let explanation = self.explanation();
        format!(
            "error: {}\ncause: {}\nhelp: {}\n",
            OneLine(explanation),
            OneLine(explanation.cause()),
            OneLine(explanation.help())
        )
    }
}

/// Why Ctrl-C and SIGTERM cannot be taken over.
#[derive(Debug, Error)]
#[error("cannot listen to Ctrl-C")]
pub struct SignalError(#[from] pub io::Error);

impl Explain for SignalError {
    fn cause(&self) -> String {
        self.0.to_string()
    }

    fn help(&self) -> String {
        "ulimit -a".to_owned()
    }

    fn exit(&self) -> Exit {
        Exit::Failure
    }
}

/// Why the terminal cannot be drawn on.
#[derive(Debug, Error)]
#[error("cannot draw on the terminal")]
pub struct TerminalError(#[from] pub io::Error);

impl Explain for TerminalError {
    fn cause(&self) -> String {
        self.0.to_string()
    }

    fn help(&self) -> String {
        "add --once, which needs no terminal".to_owned()
    }

    fn exit(&self) -> Exit {
        Exit::Failure
    }
}

/// Why outputs that were written are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoSamples {
    /// The targets ended before the first tick.
    #[error("nothing was sampled")]
    Seen,
    /// There are samples, and all were filtered out.
    #[error("no sample is shown: the outputs are empty")]
    Shown,
    /// A file without samples, or none that the filters let through.
    #[error("no sample is shown")]
    InFile,
}

impl Explain for NoSamples {
    fn cause(&self) -> String {
        match self {
            NoSamples::Seen => "no tick found a thread of the targets".to_owned(),
            NoSamples::Shown => {
                "in no sample was a thread of this choice doing what was asked for".to_owned()
            }
            NoSamples::InFile => {
                "the file is empty, or --focus, --ignore and --thread leave nothing of it".to_owned()
            }
        }
    }

    fn help(&self) -> String {
        match self {
            NoSamples::Seen => "raise --rate or --duration".to_owned(),
            NoSamples::Shown => {
                "add --idle, which shows time off the CPU too, and check --mode, --gil and --thread"
                    .to_owned()
            }
            NoSamples::InFile => "leave the filters out".to_owned(),
        }
    }

    fn exit(&self) -> Exit {
        Exit::NoSamples
    }
}

/// Prints text on one line: names of files and processes may contain line breaks and terminal commands.
pub struct OneLine<T>(pub T);

impl<T: fmt::Display> fmt::Display for OneLine<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.to_string().chars() {
            if character.is_control() {
                write!(out, "{}", character.escape_default())?;
            } else {
                write!(out, "{character}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_report_has_three_lines_whatever_is_in_it() {
        let error = Error::from(OutputConflict::UnknownEnding(PathBuf::from("a\nb\x1b[31m.xyz")));
        let report = error.report();
        let starts: Vec<_> = report.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(starts, ["error:", "cause:", "help:"]);
        assert!(report.contains(r"'a\nb\u{1b}[31m.xyz'"), "{report}");
    }
}

//! Reading profiles back, whoever wrote them.

mod filter;
mod points;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use stackclock_collapse::folded::{self, FoldedFile, Numbers};
use stackclock_collapse::{Clock, Profile, ViewOptions, pprof};
use stackclock_speedscope::ReadError;
use thiserror::Error;

use crate::cli::ShownArgs;
use crate::console;
use crate::error::{Exit, Explain, OneLine};
use crate::figures::plural;
use crate::output::Format;
use crate::rate::Rate;

pub use points::Points;

/// Why a file cannot be read as a profile.
#[derive(Debug, Error)]
#[error("cannot read '{}' as a profile", path.display())]
pub struct InputError {
    path: PathBuf,
    source: Reason,
}

#[derive(Debug, Error)]
enum Reason {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("a flame graph is a picture; the numbers in it are rounded")]
    FlameGraph,
    #[error("no line of it ends in a number, so it is not folded text, and it is no JSON and no gzip")]
    NotFolded,
    #[error(transparent)]
    Speedscope(#[from] ReadError),
    #[error(transparent)]
    Pprof(#[from] pprof::ReadError),
}

impl Explain for InputError {
    fn cause(&self) -> String {
        self.source.to_string()
    }

    fn help(&self) -> String {
        let path = self.path.display();
        match &self.source {
            Reason::Io(_) | Reason::Speedscope(ReadError::Io(_)) => format!("ls -l {path}"),
            Reason::FlameGraph => {
                "record with two outputs: -o profile.svg -o profile.speedscope.json".to_owned()
            }
            Reason::NotFolded | Reason::Speedscope(_) | Reason::Pprof(_) => {
                "give a folded, speedscope or pprof file: stackclock record -o profile.pb.gz".to_owned()
            }
        }
    }

    fn exit(&self) -> Exit {
        Exit::Failure
    }
}

impl ShownArgs {
    /// Reads a file and drops what is not to be shown.
    pub fn read(&self, path: &Path) -> Result<Profile, InputError> {
        let mut profile = read(path, self.samples_at)?;
        filter::keep_stacks(&mut profile, self.focus.as_ref(), self.ignore.as_ref());
        Ok(profile)
    }

    /// A file was filtered when it was written: all that is left is shown.
    pub fn view_options(&self) -> ViewOptions {
        ViewOptions { clock: Clock::WallClock, thread_name: self.thread.clone(), ..ViewOptions::default() }
    }
}

/// Reads a file, or standard input for `-`. `samples_at` is the rate of samples in files that count samples.
fn read(path: &Path, samples_at: Option<Rate>) -> Result<Profile, InputError> {
    let read = if path == Path::new("-") {
        read_any(path, io::stdin().lock(), samples_at)
    } else {
        File::open(path)
            .map_err(Reason::from)
            .and_then(|file| read_any(path, BufReader::new(file), samples_at))
    };
    read.map_err(|source| InputError { path: path.to_owned(), source })
}

fn read_any(path: &Path, mut input: impl BufRead, samples_at: Option<Rate>) -> Result<Profile, Reason> {
    match Format::from_path(path) {
        Some(Format::FlameGraph) => Err(Reason::FlameGraph),
        Some(Format::Folded) => read_folded(path, input, samples_at),
        Some(Format::Speedscope) => read_speedscope(input, samples_at),
        Some(Format::Pprof) => read_pprof(input, samples_at),
        None if input.fill_buf()?.starts_with(&pprof::GZIP_MAGIC) => read_pprof(input, samples_at),
        // No folded text that anybody writes begins like a JSON object.
        None if input.fill_buf()?.trim_ascii_start().starts_with(b"{") => read_speedscope(input, samples_at),
        None => read_folded(path, input, samples_at),
    }
}

/// A sample without a rate is taken for a hundredth of a second, as py-spy takes them.
const USUAL_INTERVAL_NS: u64 = 10_000_000;

fn interval_ns(samples_at: Option<Rate>) -> u64 {
    samples_at.map_or(USUAL_INTERVAL_NS, Rate::interval_ns)
}

fn read_speedscope(input: impl BufRead, samples_at: Option<Rate>) -> Result<Profile, Reason> {
    Ok(stackclock_speedscope::read(input, interval_ns(samples_at))?)
}

fn read_pprof(input: impl BufRead, samples_at: Option<Rate>) -> Result<Profile, Reason> {
    Ok(pprof::read(input, interval_ns(samples_at))?)
}

fn read_folded(path: &Path, input: impl BufRead, samples_at: Option<Rate>) -> Result<Profile, Reason> {
    let numbers = match samples_at {
        Some(rate) => Numbers::Samples { interval_ns: rate.interval_ns() },
        None => Numbers::Microseconds,
    };
    let FoldedFile { profile, bad_lines, first_bad_line } = folded::read(input, numbers)?;
    match first_bad_line {
        Some(_) if profile.samples.is_empty() => return Err(Reason::NotFolded),
        Some(first) => console::line(format!(
            "warning: {} of {} skipped: no folded text, the first is line {first}",
            plural(bad_lines, "line", "lines"),
            OneLine(path.display())
        )),
        None => {}
    }
    Ok(profile)
}

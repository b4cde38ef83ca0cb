//! Results on their way to files: what format, which file, and nothing half-written.
//!
//! An output goes through three types, so that a mistake shows before the sampling and not after it:
//!
//! ```text
//!     typed ── Output ────────────── OpenOutput ─── sampling ─── the file at its name
//!              format and place      open, so it                 whole, by rename
//!              agree                 can be written
//! ```

mod file;
mod format;

use std::ffi::OsStr;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::error::{Exit, Explain};
pub use file::{Existing, PendingFile};
pub use format::Format;

/// Where one result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Standard output, typed as `-`.
    Stdout,
    /// A file that the user named: what it held before is replaced.
    Named(PathBuf),
    /// A file that we named: never one that exists.
    Chosen(PathBuf),
}

/// One result to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where to.
    pub place: Place,
    /// In which format.
    pub format: Format,
}

/// Why the outputs that were asked for contradict themselves or each other.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum OutputConflict {
    /// The ending of a file name says nothing, nor did `--format`.
    #[error("cannot tell the format of '{}' from its name", .0.display())]
    UnknownEnding(PathBuf),
    /// Standard output has no name to take a format from.
    #[error("standard output needs a format")]
    StdoutWithoutFormat,
    /// The ending says one format and `--format` another.
    #[error("'{}' is the name of a {named} file, but --format says {asked}", path.display())]
    EndingAgainstFormat {
        /// The file.
        path: PathBuf,
        /// What its ending says.
        named: Format,
        /// What `--format` says.
        asked: Format,
    },
    /// Two outputs would end in the same place.
    #[error("'{}' is given twice", .0.display())]
    Twice(PathBuf),
}

impl Explain for OutputConflict {
    fn cause(&self) -> String {
        match self {
            OutputConflict::UnknownEnding(_) => format!("the known endings are {}", Format::endings()),
            OutputConflict::StdoutWithoutFormat => "`-o -` has no ending that could say one".to_owned(),
            OutputConflict::EndingAgainstFormat { .. } => {
                "the ending of the name and --format must agree".to_owned()
            }
            OutputConflict::Twice(_) => "each output needs a place of its own".to_owned(),
        }
    }

    fn help(&self) -> String {
        match self {
            OutputConflict::UnknownEnding(path) => {
                let name = Format::FlameGraph.rename(path);
                format!("-o {}, or say the format with --format", name.display())
            }
            OutputConflict::StdoutWithoutFormat => "-o - --format folded".to_owned(),
            OutputConflict::EndingAgainstFormat { path, asked, .. } => {
                format!("-o {}", asked.rename(path).display())
            }
            OutputConflict::Twice(_) => "remove one of the two -o".to_owned(),
        }
    }

    fn exit(&self) -> Exit {
        Exit::Usage
    }
}

/// A file that could not be opened or written.
#[derive(Debug, Error)]
#[error("cannot write '{}'", path.display())]
pub struct OutputError {
    path: PathBuf,
    source: io::Error,
}

impl Explain for OutputError {
    fn cause(&self) -> String {
        self.source.to_string()
    }

    fn help(&self) -> String {
        let folder = file::folder_of(&self.path).display();
        match self.source.kind() {
            io::ErrorKind::NotFound => format!("mkdir -p {folder}"),
            io::ErrorKind::PermissionDenied => {
                format!("name a file that you may write to with -o; see ls -ld {folder}")
            }
            io::ErrorKind::IsADirectory => {
                format!("name a file in it: -o {}", self.path.join("profile.svg").display())
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => format!("df {folder}"),
            _ => "name another file with -o".to_owned(),
        }
    }

    fn exit(&self) -> Exit {
        Exit::Failure
    }
}

impl Output {
    /// Gives each place its format, and refuses contradictions. Without places it is a file of a new name
    /// that begins with `stem`.
    pub fn resolve(
        places: Vec<PathBuf>,
        format: Option<Format>,
        stem: impl FnOnce() -> String,
    ) -> Result<Vec<Output>, OutputConflict> {
        if places.is_empty() {
            let format = format.unwrap_or(Format::FlameGraph);
            let name = PathBuf::from(format!("{}.{}", stem(), format.extension()));
            return Ok(vec![Output { place: Place::Chosen(name), format }]);
        }
        let mut outputs: Vec<Output> = Vec::with_capacity(places.len());
        for path in places {
            let output = Output::resolve_one(path, format)?;
            if outputs.iter().any(|other| other.place == output.place) {
                return Err(OutputConflict::Twice(output.path().to_owned()));
            }
            outputs.push(output);
        }
        Ok(outputs)
    }

    /// Gives one place its format.
    pub fn resolve_one(path: PathBuf, asked: Option<Format>) -> Result<Output, OutputConflict> {
        if path == Path::new("-") {
            let format = asked.ok_or(OutputConflict::StdoutWithoutFormat)?;
            return Ok(Output { place: Place::Stdout, format });
        }
        let format = match (Format::from_path(&path), asked) {
            (Some(named), Some(asked)) if named != asked => {
                return Err(OutputConflict::EndingAgainstFormat { path, named, asked });
            }
            (_, Some(asked)) => asked,
            (Some(named), None) => named,
            (None, None) => return Err(OutputConflict::UnknownEnding(path)),
        };
        Ok(Output { place: Place::Named(path), format })
    }

    /// The name to use in messages.
    fn path(&self) -> &Path {
        match &self.place {
            Place::Stdout => Path::new("-"),
            Place::Named(path) | Place::Chosen(path) => path,
        }
    }

    /// Opens the output, which shows whether it can be written. What the place holds stays until
    /// [`OpenOutput::finish`].
    pub fn open(self) -> Result<OpenOutput, OutputError> {
        let opened = match &self.place {
            Place::Stdout => Ok(Sink::Stdout),
            Place::Named(path) => PendingFile::open(path, Existing::Replace).map(Sink::File),
            Place::Chosen(path) => {
                let keep = Existing::Keep { ending: self.format.extension() };
                PendingFile::open(path, keep).map(Sink::File)
            }
        };
        match opened {
            Ok(sink) => Ok(OpenOutput { format: self.format, path: self.path().to_owned(), sink }),
            Err(source) => Err(OutputError { path: self.path().to_owned(), source }),
        }
    }
}

#[derive(Debug)]
enum Sink {
    Stdout,
    File(PendingFile),
}

/// An output that is open, and still without content.
#[derive(Debug)]
pub struct OpenOutput {
    /// The format to write.
    pub format: Format,
    path: PathBuf,
    sink: Sink,
}

impl OpenOutput {
    /// Writes the whole content with `write` and puts the file in its place. Returns its name, which for a
    /// name that we chose may have got a number; `None` for standard output.
    ///
    /// A reader that closed its end of a pipe has what it wanted: that is no error.
    pub fn finish(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Option<PathBuf>, OutputError> {
        self.sink.finish(self.path, write)
    }
}

impl Sink {
    fn finish(
        self,
        path: PathBuf,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Option<PathBuf>, OutputError> {
        let written = match self {
            Sink::Stdout => write_buffered(io::stdout().lock(), write).map(|()| None),
            Sink::File(mut file) => write_buffered(&mut file, write).and_then(|()| file.publish()).map(Some),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            other => other.map_err(|source| OutputError { path, source }),
        }
    }
}

/// Writes to standard output what is no file of the user's, as a table.
pub fn write_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), OutputError> {
    Sink::Stdout.finish(PathBuf::from("-"), write).map(|_| ())
}

fn write_buffered(sink: impl Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut buffered = BufWriter::with_capacity(64 * 1024, sink);
    write(&mut buffered)?;
    buffered.flush()
}

/// The name that a file of ours begins with: the program or process, and the time, which sorts as text.
pub fn chosen_stem(subject: &OsStr, now: jiff::Timestamp) -> String {
    let subject = subject.to_string_lossy().replace(|c: char| c.is_control() || c == '/', "_");
    format!("{subject}-{}", now.strftime("%Y%m%dT%H%M%SZ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(places: &[&str], format: Option<Format>) -> Result<Vec<Output>, OutputConflict> {
        Output::resolve(places.iter().map(PathBuf::from).collect(), format, || "4242-now".to_owned())
    }

    #[test]
    fn the_ending_says_the_format() {
        let outputs = resolve(&["a.svg", "b.speedscope.json", "-"], None);
        assert_eq!(outputs, Err(OutputConflict::StdoutWithoutFormat));
        let outputs = resolve(&["a.svg", "b.speedscope.json", "c.txt"], None).unwrap();
        let formats: Vec<_> = outputs.iter().map(|output| output.format).collect();
        assert_eq!(formats, [Format::FlameGraph, Format::Speedscope, Format::Folded]);
    }

    #[test]
    fn an_ending_and_a_format_must_agree() {
        assert!(resolve(&["a.svg"], Some(Format::FlameGraph)).is_ok());
        assert_eq!(
            resolve(&["a.svg"], Some(Format::Folded)),
            Err(OutputConflict::EndingAgainstFormat {
                path: "a.svg".into(),
                named: Format::FlameGraph,
                asked: Format::Folded
            })
        );
    }

    #[test]
    fn an_unknown_ending_needs_a_format() {
        assert_eq!(resolve(&["a.xyz"], None), Err(OutputConflict::UnknownEnding("a.xyz".into())));
        assert_eq!(resolve(&["a.xyz"], Some(Format::Folded)).unwrap()[0].format, Format::Folded);
        assert_eq!(resolve(&["-"], Some(Format::Folded)).unwrap()[0].place, Place::Stdout);
    }

    #[test]
    fn one_place_cannot_take_two_results() {
        assert_eq!(resolve(&["a.svg", "a.svg"], None), Err(OutputConflict::Twice("a.svg".into())));
        let twice = resolve(&["-", "-"], Some(Format::Folded));
        assert_eq!(twice, Err(OutputConflict::Twice("-".into())));
    }

    #[test]
    fn without_a_place_we_choose_a_name() {
        let chosen = |name: &str, format| vec![Output { place: Place::Chosen(name.into()), format }];
        assert_eq!(resolve(&[], None), Ok(chosen("4242-now.svg", Format::FlameGraph)));
        let json = Some(Format::Speedscope);
        assert_eq!(resolve(&[], json), Ok(chosen("4242-now.speedscope.json", Format::Speedscope)));
    }

    #[test]
    fn a_chosen_name_has_the_time_and_no_slash() {
        let time = jiff::Timestamp::from_second(1_700_000_000).unwrap();
        assert_eq!(chosen_stem(OsStr::new("a/b\n"), time), "a_b_-20231114T221320Z");
    }
}

//! The file formats and their endings.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use stackclock_collapse::folded::{self, Numbers};
use stackclock_collapse::{View, flame_graph, pprof};

/// A file format that we write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Flame graph as SVG, to look at in a browser
    #[value(name = "flamegraph", alias = "svg")]
    FlameGraph,
    /// JSON for speedscope.app
    Speedscope,
    /// Gzipped protocol buffer for pprof
    Pprof,
    /// One line a stack with its microseconds
    #[value(alias = "raw", alias = "collapsed")]
    Folded,
}

/// Endings and what they say, the ending that we give ourselves first of its format.
const ENDINGS: [(&str, Format); 6] = [
    ("svg", Format::FlameGraph),
    ("speedscope.json", Format::Speedscope),
    ("json", Format::Speedscope),
    ("pb.gz", Format::Pprof),
    ("folded", Format::Folded),
    ("collapsed", Format::Folded),
];

/// py-spy's users call folded stacks `.txt`; nobody looks for them there, so help texts leave it out.
const PLAIN_TEXT: (&str, Format) = ("txt", Format::Folded);

impl Format {
    /// What the ending of a file name says.
    pub fn from_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let is_of = |ending: &str| {
            let stem = name.strip_suffix(ending).and_then(|rest| rest.strip_suffix('.'));
            stem.is_some_and(|stem| !stem.is_empty())
        };
        let known = ENDINGS.iter().chain([&PLAIN_TEXT]).find(|(ending, _)| is_of(ending))?;
        Some(known.1)
    }

    /// The path with the ending of this format in place of its own.
    pub fn rename(self, path: &Path) -> PathBuf {
        // Endings may have two parts, of which paths know only the last.
        let is_pprof = Format::from_path(path) == Some(Format::Pprof);
        let stem = if is_pprof { path.with_extension("") } else { path.to_owned() };
        stem.with_extension(self.extension())
    }

    /// The ending of a file of this format, without its first dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::FlameGraph => "svg",
            Format::Speedscope => "speedscope.json",
            Format::Pprof => "pb.gz",
            Format::Folded => "folded",
        }
    }

    /// Writes a view; `numbers` says what those of folded stacks count.
    pub fn write(self, view: &View<'_>, numbers: Numbers, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Format::FlameGraph => flame_graph::write(view, out),
            Format::Speedscope => stackclock_speedscope::write(view, out),
            Format::Pprof => pprof::write(view, out),
            Format::Folded => folded::write(view, numbers, out),
        }
    }

    /// All endings with their formats, for people.
    pub fn endings() -> String {
        let endings: Vec<_> =
            ENDINGS.iter().map(|(ending, format)| format!(".{ending} ({format})")).collect();
        endings.join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Format::FlameGraph => "flame graph",
            Format::Speedscope => "speedscope",
            Format::Pprof => "pprof",
            Format::Folded => "folded",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_knows_its_own_ending() {
        for format in Format::value_variants() {
            let path = format!("name.{}", format.extension());
            assert_eq!(Format::from_path(Path::new(&path)), Some(*format));
        }
    }

    #[test]
    fn a_new_ending_replaces_the_whole_old_one() {
        let renamed = Format::Speedscope.rename(Path::new("dir/a.pb.gz"));
        assert_eq!(renamed, Path::new("dir/a.speedscope.json"));
        assert_eq!(Format::Pprof.rename(Path::new("a.svg")), Path::new("a.pb.gz"));
    }

    #[test]
    fn endings_ignore_case_and_what_comes_before() {
        assert_eq!(Format::from_path(Path::new("a.b.SVG")), Some(Format::FlameGraph));
        assert_eq!(Format::from_path(Path::new("dir.svg/a.json")), Some(Format::Speedscope));
        assert_eq!(Format::from_path(Path::new("a.txt")), Some(Format::Folded));
        assert_eq!(Format::from_path(Path::new("a.b.pb.gz")), Some(Format::Pprof));
    }

    #[test]
    fn other_names_say_nothing() {
        for name in ["a", "a.", ".svg", "a.svgz", "a.gz", ".pb.gz", "apb.gz", "dir.svg/a", "-", ""] {
            assert_eq!(Format::from_path(Path::new(name)), None, "{name:?}");
        }
    }
}

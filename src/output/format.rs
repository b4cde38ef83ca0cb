//! The file formats and their endings.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use stackclock_collapse::folded::{self, Numbers};
use stackclock_collapse::{View, flame_graph};

/// A file format that we write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Flame graph as SVG, to look at in a browser
    #[value(name = "flamegraph", alias = "svg")]
    FlameGraph,
    /// JSON for speedscope.app
    Speedscope,
    /// One line a stack with its microseconds
    #[value(alias = "raw", alias = "collapsed")]
    Folded,
}

/// Endings and what they say, the ending that we give ourselves first of its format.
const ENDINGS: [(&str, Format); 5] = [
    ("svg", Format::FlameGraph),
    ("speedscope.json", Format::Speedscope),
    ("json", Format::Speedscope),
    ("folded", Format::Folded),
    ("collapsed", Format::Folded),
];

/// py-spy's users call folded stacks `.txt`; nobody looks for them there, so help texts leave it out.
const PLAIN_TEXT: (&str, Format) = ("txt", Format::Folded);

impl Format {
    /// What the ending of a file name says.
    pub fn from_path(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        let known = ENDINGS.iter().chain([&PLAIN_TEXT]).find(|(known, _)| *known == ending)?;
        Some(known.1)
    }

    /// The ending of a file of this format, without its first dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::FlameGraph => "svg",
            Format::Speedscope => "speedscope.json",
            Format::Folded => "folded",
        }
    }

    /// Writes a view; `numbers` says what those of folded stacks count.
    pub fn write(self, view: &View<'_>, numbers: Numbers, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Format::FlameGraph => flame_graph::write(view, out),
            Format::Speedscope => stackclock_speedscope::write(view, out),
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
    fn endings_ignore_case_and_what_comes_before() {
        assert_eq!(Format::from_path(Path::new("a.b.SVG")), Some(Format::FlameGraph));
        assert_eq!(Format::from_path(Path::new("dir.svg/a.json")), Some(Format::Speedscope));
        assert_eq!(Format::from_path(Path::new("a.txt")), Some(Format::Folded));
    }

    #[test]
    fn other_names_say_nothing() {
        for name in ["a", "a.", ".svg", "a.svgz", "dir.svg/a", "-", ""] {
            assert_eq!(Format::from_path(Path::new(name)), None, "{name:?}");
        }
    }
}

//! `stackclock diff`: what got slower from one written profile to another.

use std::path::Path;

use stackclock_collapse::diff::Difference;
use stackclock_collapse::{Lines, View, ViewOptions, flame_graph};

use crate::cli::DiffArgs;
use crate::console;
use crate::error::{Error, Exit, NoSamples, OneLine};
use crate::figures::plural;
use crate::input::Points;
use crate::output::{Format, OpenOutput, Output, write_stdout};
use crate::usage::UsageError;

/// Reads both, compares, writes; says with its status whether something grew too much.
pub fn diff(args: DiffArgs) -> Result<Exit, Error> {
    let output = args.output.as_deref().map(open_flame_graph).transpose()?;
    let base = args.shown.read(&args.base)?;
    let new = args.shown.read(&args.new)?;
    // Lines move when code changes, and every function below the change would seem new.
    let options = ViewOptions { lines: Lines::Dropped, ..args.shown.view_options() };
    let (base, new) = (View::new(&base, &options), View::new(&new, &options));
    let mut difference = Difference::new(&base, &new, args.sort.into());
    let grown = args.fail_above.map(|limit| grown(&difference, limit));
    match output {
        Some(output) => {
            output.finish(|out| flame_graph::write_difference(&base, &new, out))?;
        }
        None if args.json => {
            difference.functions.truncate(args.limit);
            write_stdout(|out| {
                serde_json::to_writer_pretty(&mut *out, &difference)?;
                writeln!(out)
            })?;
        }
        None => write_stdout(|out| difference.write_text(args.limit, out))?,
    }
    if base.shown_ns() == 0 || new.shown_ns() == 0 {
        return Err(NoSamples::InFile.into());
    }
    match grown.flatten() {
        Some(found) => {
            console::line(found);
            Ok(Exit::Failure)
        }
        None => Ok(Exit::Success),
    }
}

/// What grew by more than the limit, for people; `None`: nothing did.
fn grown(difference: &Difference, limit: Points) -> Option<String> {
    let mut grown = difference.grown_above(limit.share());
    let first = grown.next()?;
    let points = first.self_time.points().max(first.total.points());
    Some(format!(
        "{} grew by more than {limit} of the wall time: {} by {:.1} %",
        plural(1 + grown.count() as u64, "function", "functions"),
        OneLine(&first.function),
        100.0 * points
    ))
}

/// The only picture of a difference is a flame graph.
fn open_flame_graph(path: &Path) -> Result<OpenOutput, Error> {
    if path != Path::new("-") && Format::from_path(path) != Some(Format::FlameGraph) {
        return Err(UsageError::new(
            format!("'{}' is not the name of a flame graph file", path.display()),
            "a difference is drawn as flame graph; numbers are for standard output, with --json for programs",
            format!("-o {}", Format::FlameGraph.rename(path).display()),
        )
        .into());
    }
    Ok(Output::resolve_one(path.to_owned(), Some(Format::FlameGraph))?.open()?)
}

//! `stackclock record`: from the command line to the files.

use stackclock_collapse::View;
use stackclock_collapse::folded::Numbers;
use stackclock_sampler::{Child, Recording, Targets};

use crate::cli::RecordArgs;
use crate::console;
use crate::error::{Error, Exit, NoSamples, SignalError};
use crate::options::RecordOptions;
use crate::output::{OpenOutput, Output, OutputError};
use crate::progress::ProgressLine;
use crate::quality;
use crate::signals;
use crate::summary::{Summary, Written};

/// Samples, writes, and says how it went.
pub fn record(args: RecordArgs) -> Result<Exit, Error> {
    let mut options = RecordOptions::resolve(args)?;
    let launches = matches!(options.session.targets, Targets::Launch(_));
    let (recording, outputs, progress) =
        sample(&mut options).map_err(|error| if launches { error.before_launch() } else { error })?;
    progress.say("looking up symbols and writing");
    let child = recording.child();
    let written = write(recording, outputs, &options, progress);
    match child {
        Some(child) => outlive(child, written),
        None => written.map(|()| Exit::Success),
    }
}

/// Opens the outputs, then attaches or launches, and samples.
fn sample(options: &mut RecordOptions) -> Result<(Recording, Vec<OpenOutput>, ProgressLine), Error> {
    let outputs = std::mem::take(&mut options.outputs);
    let outputs = outputs.into_iter().map(Output::open).collect::<Result<Vec<_>, _>>()?;
    let stop = signals::finish_on_interrupt().map_err(SignalError)?;
    let begin = || ProgressLine::begin(&options.session, options.rate);
    // Said only when the targets were found to be some: after the first tick.
    let mut progress = None;
    let recording = stackclock_sampler::record(options.session.clone(), &stop, &mut |figures| {
        progress.get_or_insert_with(begin).show(figures);
    })?;
    Ok((recording, outputs, progress.unwrap_or_else(begin)))
}

/// Writes the outputs and the final block.
fn write(
    recording: Recording,
    outputs: Vec<OpenOutput>,
    options: &RecordOptions,
    progress: ProgressLine,
) -> Result<(), Error> {
    let profile = recording.into_profile();
    let view = View::new(&profile, &options.view);
    let written = write_outputs(outputs, &view, options.folded_numbers);
    progress.end();
    let written = written?;
    let shown: u64 = view.rows().iter().map(|row| row.observations).sum();
    let warnings = quality::warnings(&profile, shown);
    console::text(Summary { profile: &profile, warnings: &warnings, written: &written });
    match shown {
        0 if profile.samples.is_empty() => Err(NoSamples::Seen.into()),
        0 => Err(NoSamples::Shown.into()),
        _ => Ok(()),
    }
}

/// Waits for the command that we launched: it runs on when its recording is over. Its status becomes ours, unless
/// the outputs could not be written.
fn outlive(child: Child, written: Result<(), Error>) -> Result<Exit, Error> {
    let end = child.wait();
    match written {
        Err(empty @ Error::NoSamples(_)) => console::text(empty.report()),
        written => written?,
    }
    Ok(end.map_or(Exit::Failure, Exit::of_child))
}

fn write_outputs(
    outputs: Vec<OpenOutput>,
    view: &View<'_>,
    numbers: Numbers,
) -> Result<Vec<Written>, OutputError> {
    let mut written = Vec::new();
    for output in outputs {
        let format = output.format;
        let path = output.finish(|out| format.write(view, numbers, out))?;
        written.extend(path.map(|path| Written { path, format }));
    }
    Ok(written)
}

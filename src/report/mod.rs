//! `stackclock report`: a written profile as a table, or in another format.

mod filter;
mod input;

use stackclock_collapse::folded::Numbers;
use stackclock_collapse::table::{self, Sort};
use stackclock_collapse::{Clock, View, ViewOptions};

use crate::cli::{ReportArgs, SortArg};
use crate::error::{Error, Exit, NoSamples};
use crate::output::{Output, write_stdout};

pub use input::InputError;

/// Reads, filters, writes.
pub fn report(args: ReportArgs) -> Result<Exit, Error> {
    // Without -o nothing is opened: a table goes to standard output.
    let outputs = match args.output.is_empty() {
        true => Vec::new(),
        false => Output::resolve(args.output.clone(), args.format, String::new)?,
    };
    let outputs = outputs.into_iter().map(Output::open).collect::<Result<Vec<_>, _>>()?;
    let mut profile = input::read(&args.file, args.samples_at)?;
    filter::keep_stacks(&mut profile, args.focus.as_ref(), args.ignore.as_ref());
    let view = View::new(&profile, &view_options(&args));
    if outputs.is_empty() {
        write_table(&view, &args)?;
    }
    for output in outputs {
        let format = output.format;
        output.finish(|out| format.write(&view, Numbers::Microseconds, out))?;
    }
    match view.shown_ns() {
        0 => Err(NoSamples::InFile.into()),
        _ => Ok(Exit::Success),
    }
}

/// A file was filtered when it was written: all that is left is shown.
fn view_options(args: &ReportArgs) -> ViewOptions {
    ViewOptions { clock: Clock::WallClock, thread_name: args.thread.clone(), ..ViewOptions::default() }
}

fn write_table(view: &View<'_>, args: &ReportArgs) -> Result<(), Error> {
    let sort = match args.sort {
        SortArg::Own => Sort::SelfTime,
        SortArg::Total => Sort::TotalTime,
    };
    let table = table::functions(view, sort, args.limit);
    Ok(write_stdout(|out| match args.json {
        true => {
            serde_json::to_writer_pretty(&mut *out, &table).map_err(Into::into).and_then(|()| writeln!(out))
        }
        false => table.write_text(out),
    })?)
}

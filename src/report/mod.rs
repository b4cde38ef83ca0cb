//! `stackclock report`: a written profile as a table, or in another format.

use stackclock_collapse::View;
use stackclock_collapse::folded::Numbers;
use stackclock_collapse::table;

use crate::cli::ReportArgs;
use crate::error::{Error, Exit, NoSamples};
use crate::output::{Output, write_stdout};

/// Reads, filters, writes.
pub fn report(args: ReportArgs) -> Result<Exit, Error> {
    // Without -o nothing is opened: a table goes to standard output.
    let outputs = match args.output.is_empty() {
        true => Vec::new(),
        false => Output::resolve(args.output.clone(), args.format, String::new)?,
    };
    let outputs = outputs.into_iter().map(Output::open).collect::<Result<Vec<_>, _>>()?;
    let profile = args.shown.read(&args.file)?;
    let view = View::new(&profile, &args.shown.view_options());
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

fn write_table(view: &View<'_>, args: &ReportArgs) -> Result<(), Error> {
    let table = table::functions(view, args.sort.into(), args.limit);
    Ok(write_stdout(|out| match args.json {
        true => {
            serde_json::to_writer_pretty(&mut *out, &table).map_err(Into::into).and_then(|()| writeln!(out))
        }
        false => table.write_text(out),
    })?)
}

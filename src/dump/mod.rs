//! `stackclock dump`: what every thread is doing now.

mod model;
mod text;

use stackclock_collapse::FileNames;
use stackclock_sampler::{SnapshotOptions, snapshot};

use crate::cli::DumpArgs;
use crate::error::{Error, Exit};
use crate::options::{each_once, resolve_frames, resolve_subprocesses, shown_code};
use crate::output::write_stdout;
use model::Dump;

/// Looks once, and prints.
pub fn dump(args: DumpArgs) -> Result<Exit, Error> {
    let frames = resolve_frames(&args.frames);
    let files = if args.full_filenames { FileNames::Full } else { FileNames::default() };
    let profile = snapshot(&SnapshotOptions {
        pids: each_once(args.pid),
        subprocesses: resolve_subprocesses(args.subprocesses),
        frames,
    })?;
    let dump = Dump::new(&profile, &files, shown_code(frames));
    write_stdout(|out| match args.json {
        true => {
            serde_json::to_writer_pretty(&mut *out, &dump).map_err(Into::into).and_then(|()| writeln!(out))
        }
        false => text::write(&dump, out),
    })?;
    Ok(Exit::Success)
}

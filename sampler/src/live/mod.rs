//! A recording that is looked at while it goes on.
//!
//! ptrace knows tracers by thread, so a thread of its own records; it hands over what is new at the end of every window,
//! still as numbers, and looks no names up, which would make its ticks late:
//!
//! ```text
//!   recording thread   Session ── tick, tick, tick ── cut ─┐
//!                                                         Window: samples, new frames and stacks
//!   caller's thread    Naming: names of what is new ◄─────┘──► Profile of the window
//! ```

mod naming;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use stackclock_collapse::Profile;
use stackclock_unwinder::native::ModuleStore;

use crate::SamplerError;
use crate::options::SessionOptions;
use crate::ptrace::block_child_signal;
use crate::recording::Child;
use crate::session::{Progress, Session};
use naming::Naming;
use window::{Cutter, Window};

/// A recording under way. Dropping it ends it.
#[derive(Debug)]
pub struct Live {
    stop: Arc<AtomicBool>,
    windows: Receiver<Window>,
    naming: Naming,
    thread: Option<JoinHandle<Result<Option<Child>, SamplerError>>>,
}

/// What was recorded in one window.
#[derive(Debug)]
pub struct LiveProfile<'a> {
    /// The samples of the window; frames and stacks of all windows so far.
    pub profile: &'a Profile,
    /// How the recording is going since its beginning.
    pub progress: Progress,
}

/// Why there is no further window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveEnd {
    /// Not yet.
    NotYet,
    /// The recording is over: the targets have ended.
    Over,
}

impl Live {
    /// Checks and opens the targets, and records in windows of this length. SIGCHLD is blocked in the calling thread from
    /// now on.
    pub fn start(options: SessionOptions, window: Duration) -> Result<Self, SamplerError> {
        block_child_signal()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (send_window, windows) = mpsc::channel();
        let (send_begun, begun) = mpsc::channel();
        let naming = Naming::new(options.frames);
        let stopped = Arc::clone(&stop);
        let record = move || {
            let session = Session::start(options)?;
            // Nobody listens any more: then `stop` is set too.
            let _ = send_begun.send(session.modules());
            let mut cutter = Cutter::new(window);
            let recording = session.run_with(&stopped, &mut |recorder, at_ns, progress| {
                if let Some(window) = cutter.cut(recorder, at_ns, progress) {
                    let _ = send_window.send(window);
                }
            })?;
            Ok(recording.child())
        };
        let thread = std::thread::Builder::new().name("sampling".to_owned()).spawn(record);
        let thread = thread.map_err(|source| SamplerError::System { what: "starting a thread", source })?;
        let mut live = Live { stop, windows, naming, thread: Some(thread) };
        match begun.recv() {
            Ok(modules) => live.naming.read_from(modules),
            // It has ended before it began, and says why.
            Err(_) => live.join().map(drop)?,
        }
        Ok(live)
    }

    /// The next window, if it is complete within `patience`.
    pub fn next(&mut self, patience: Duration) -> Result<LiveProfile<'_>, LiveEnd> {
        let window = self.windows.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => LiveEnd::NotYet,
            RecvTimeoutError::Disconnected => LiveEnd::Over,
        })?;
        let progress = window.progress;
        Ok(LiveProfile { profile: self.naming.name(window), progress })
    }

    /// Ends the recording; the program that was launched, if one was.
    pub fn end(mut self) -> Result<Option<Child>, SamplerError> {
        self.stop.store(true, Ordering::Relaxed);
        self.join()
    }

    fn join(&mut self) -> Result<Option<Child>, SamplerError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(child)) => child,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(None),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it recorded is not wanted any more.
            let _ = thread.join();
        }
    }
}

/// Shared with the recording thread: files are read by whoever needs them first.
type Modules = Arc<ModuleStore>;

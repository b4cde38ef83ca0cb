//! What a recording and a snapshot have in common: the targets, what looks at them, and what keeps what was seen.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::SamplerError;
use crate::backend::CaptureBackend;
use crate::backend::ptrace::PtraceBackend;
use crate::clock::Instant;
use crate::options::{FrameSelection, Stops};
use crate::ptrace::Tracer;
use crate::recorder::Recorder;
use crate::target::{Life, Target, admit, describe};

/// Targets under observation.
#[derive(Debug)]
pub struct Watch {
    /// Looks at their threads.
    pub backend: PtraceBackend,
    /// Keeps what was seen.
    pub recorder: Recorder,
    /// The targets, also those that have ended.
    pub targets: Vec<Target>,
}

impl Watch {
    /// A watch over nothing yet. SIGCHLD is blocked in the calling thread, and in those that it starts, from now on.
    pub fn new(frames: FrameSelection, stops: Stops) -> Result<Self, SamplerError> {
        Ok(Watch {
            backend: PtraceBackend::new(Tracer::new()?, frames, stops),
            recorder: Recorder::new(frames),
            targets: Vec::new(),
        })
    }

    /// A process that was admitted becomes a target.
    pub fn add(&mut self, pid: u32) -> Result<(), SamplerError> {
        let process = self.recorder.add_process(describe(pid));
        let target = Target::open(pid, process, &self.recorder.modules);
        self.targets.push(target.map_err(|_| SamplerError::NoSuchProcess { pid })?);
        Ok(())
    }

    /// Makes targets of those children that are none yet. A child that has ended since, or that we may not look into
    /// (a setuid program), is left out.
    pub fn add_children(&mut self, children: &[u32]) {
        for &child in children {
            let known = self.targets.iter().any(|target| target.pid == child && target.life == Life::Running);
            if !known && admit(child).is_ok() {
                let _ = self.add(child);
            }
        }
    }

    /// Sleeps until `deadline`, or until a signal arrives, and takes in what stops meanwhile.
    pub fn wait_until(&mut self, deadline: Instant) {
        self.backend.wait_until(deadline, &mut self.targets, &mut self.recorder);
    }
}

/// Three files are kept open per thread: takes as many as we may have. Not before a program is launched, which would
/// inherit it.
pub fn allow_many_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Refused in some containers; then the usual limit has to do.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

//! What a dump says; as JSON, what `--json` prints.
//!
//! Fields are added, never renamed or removed, without a new [`Dump::version`]. A field that has nothing to say is `null`.

use std::time::SystemTime;

use serde::Serialize;
use stackclock_collapse::{Code, FileNames, Frame, FrameKind, Profile, RunState, Sample};

/// Processes at one moment.
#[derive(Debug, Serialize)]
pub struct Dump {
    /// Of this form: 1.
    pub version: u32,
    /// When the look began, seconds since 1970.
    pub taken_at: f64,
    /// In order of pid.
    pub processes: Vec<DumpedProcess>,
}

/// A process.
#[derive(Debug, Serialize)]
pub struct DumpedProcess {
    /// Its id.
    pub pid: u32,
    /// Its command line, the program without its folder.
    pub command: String,
    /// The version of its CPython, as `3.11.2`.
    pub python: Option<String>,
    /// In order of tid.
    pub threads: Vec<DumpedThread>,
}

/// A thread at one instant.
#[derive(Debug, Serialize)]
pub struct DumpedThread {
    /// Its id in the kernel.
    pub tid: u32,
    /// Its name in the kernel.
    pub name: String,
    /// What it was doing.
    pub state: State,
    /// The system call it sleeps in; only with [`State::Blocked`].
    pub syscall: Option<String>,
    /// Whether it held its interpreter's GIL.
    pub holds_gil: bool,
    /// Leaf first. A frame of kind `error` says what is missing, and why.
    pub frames: Vec<DumpedFrame>,
}

/// The [`RunState`] without its system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// On a CPU.
    Running,
    /// Waiting for a CPU.
    Runnable,
    /// Waiting for the GIL.
    GilWait,
    /// Asleep in a system call.
    Blocked,
    /// Asleep where no signal wakes it.
    Uninterruptible,
    /// Stopped by a signal or a debugger.
    Stopped,
}

/// A frame; its file and module as they are printed.
#[derive(Debug, Serialize)]
pub struct DumpedFrame {
    /// The function, or for kind `error` what is wrong.
    pub function: String,
    /// `python`, `native`, `inlined`, `kernel` or `error`.
    pub kind: &'static str,
    /// Its source file.
    pub file: Option<String>,
    /// The line that was executing.
    pub line: Option<u32>,
    /// The mapped file that its code is in.
    pub module: Option<String>,
}

impl Dump {
    /// What a profile of one instant says, with files named as `files` has it and only the frames that `code` shows.
    pub fn new(profile: &Profile, files: &FileNames, code: Code) -> Self {
        let mut processes: Vec<DumpedProcess> = (profile.processes.iter())
            .map(|process| DumpedProcess {
                pid: process.pid,
                command: process.name.clone(),
                python: process.python.clone(),
                threads: Vec::new(),
            })
            .collect();
        for sample in &profile.samples {
            let process = profile.thread(sample.thread).process;
            if let Some(process) = processes.get_mut(process.0 as usize) {
                process.threads.push(dumped_thread(profile, sample, files, code));
            }
        }
        // A descendant that ended before it could be looked at has nothing to say.
        processes.retain(|process| !process.threads.is_empty());
        processes.sort_by_key(|process| process.pid);
        for process in &mut processes {
            process.threads.sort_by_key(|thread| thread.tid);
        }
        let since_1970 = profile.recorded.started.duration_since(SystemTime::UNIX_EPOCH);
        Dump { version: 1, taken_at: since_1970.unwrap_or_default().as_secs_f64(), processes }
    }
}

fn dumped_thread(profile: &Profile, sample: &Sample, files: &FileNames, code: Code) -> DumpedThread {
    let thread = profile.thread(sample.thread);
    let (state, syscall) = match sample.state {
        RunState::Running => (State::Running, None),
        RunState::Runnable => (State::Runnable, None),
        RunState::GilWait => (State::GilWait, None),
        RunState::Blocked(syscall) => (State::Blocked, Some(syscall.to_string())),
        RunState::Uninterruptible => (State::Uninterruptible, None),
        RunState::Stopped => (State::Stopped, None),
    };
    let frames = profile.stacks.leaf_to_root(sample.stack).map(|frame| profile.frames.get(frame));
    DumpedThread {
        tid: thread.tid,
        name: thread.name.clone(),
        state,
        syscall,
        holds_gil: sample.holds_gil,
        frames: frames
            .filter(|frame| code.shows(frame.kind))
            .map(|frame| dumped_frame(&files.shown(frame)))
            .collect(),
    }
}

fn dumped_frame(frame: &Frame) -> DumpedFrame {
    DumpedFrame {
        function: frame.name.to_string(),
        kind: match frame.kind {
            FrameKind::Python => "python",
            FrameKind::Native => "native",
            FrameKind::Inlined => "inlined",
            FrameKind::Kernel => "kernel",
            FrameKind::State | FrameKind::Root | FrameKind::Error => "error",
        },
        file: frame.file.as_deref().map(str::to_owned),
        line: frame.line,
        module: frame.module.as_deref().map(str::to_owned),
    }
}

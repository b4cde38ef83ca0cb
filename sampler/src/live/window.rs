//! What the recording thread hands over.

use std::time::Duration;

use stackclock_collapse::{FrameId, Process, Sample, StackId, Thread};
use stackclock_unwinder::symbolize::{PythonCodeName, PythonCodes};
use stackclock_unwinder::{PythonCodeId, RawFrame};

use crate::recorder::Recorder;
use crate::session::Progress;

/// What is new since the last window.
#[derive(Debug)]
pub struct Window {
    /// All processes so far.
    pub processes: Vec<Process>,
    /// All threads so far, with their life in the window.
    pub threads: Vec<Thread>,
    /// The samples; their stacks are those of `stacks`, of this window and all before.
    pub samples: Vec<Sample>,
    /// New frames: their ids go on where the last window's ended.
    pub frames: Vec<RawFrame>,
    /// The names of the Python code in `frames`.
    pub codes: Vec<(PythonCodeId, PythonCodeName)>,
    /// New stacks: their ids go on where the last window's ended.
    pub stacks: Vec<(StackId, FrameId)>,
    /// Its end, ns since the recording began.
    pub end_ns: u64,
    /// How the recording is going.
    pub progress: Progress,
}

/// Decides where a window ends, and knows what has been handed over.
#[derive(Debug)]
pub struct Cutter {
    length_ns: u64,
    from_ns: u64,
    frames: usize,
    stacks: usize,
}

impl Cutter {
    /// Windows of this length, give or take a tick.
    pub fn new(length: Duration) -> Self {
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        Cutter { length_ns, from_ns: 0, frames: 0, stacks: 1 }
    }

    /// The window that ends with the tick at `at_ns`, if one does.
    pub fn cut(&mut self, recorder: &mut Recorder, at_ns: u64, progress: &Progress) -> Option<Window> {
        if at_ns.saturating_sub(self.from_ns) < self.length_ns {
            return None;
        }
        let (threads, samples) = recorder.timeline.cut(self.from_ns, at_ns);
        let frames = recorder.frames.values().get(self.frames..).unwrap_or_default().to_vec();
        let stacks = recorder.stacks.nodes_from(self.stacks).to_vec();
        let codes = frames.iter().filter_map(|frame| match frame {
            RawFrame::Python { code, .. } => Some((*code, recorder.codes.code_name(*code)?)),
            _ => None,
        });
        let codes = codes.collect();
        self.from_ns = at_ns;
        self.frames += frames.len();
        self.stacks += stacks.len();
        let processes = recorder.timeline.processes().to_vec();
        Some(Window {
            processes,
            threads,
            samples,
            frames,
            codes,
            stacks,
            end_ns: at_ns,
            progress: *progress,
        })
    }
}

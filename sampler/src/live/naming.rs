//! Names for what a window brings, looked up once.

use std::collections::HashMap;
use std::time::SystemTime;

use stackclock_collapse::{Profile, Recorded, StackId};
use stackclock_unwinder::symbolize::{KernelSymbols, NameSources, PythonCodeName, PythonCodes, Symbolizer};
use stackclock_unwinder::{PythonCodeId, RawFrame};

use super::Modules;
use super::window::Window;
use crate::options::FrameSelection;

/// Turns windows into profiles.
#[derive(Debug)]
pub struct Naming {
    symbolizer: Symbolizer,
    modules: Modules,
    codes: Codes,
    frames: Vec<RawFrame>,
    /// The profile's stack for each of the recorder's.
    stacks: Vec<StackId>,
    profile: Profile,
}

#[derive(Debug, Default)]
struct Codes(HashMap<PythonCodeId, PythonCodeName>);

impl PythonCodes for Codes {
    fn code_name(&self, code: PythonCodeId) -> Option<PythonCodeName> {
        self.0.get(&code).cloned()
    }
}

impl Naming {
    /// Nothing is known yet.
    pub fn new(frames: FrameSelection) -> Self {
        Naming {
            symbolizer: Symbolizer::new(frames.interpreter_frames(), KernelSymbols::default()),
            modules: Modules::default(),
            codes: Codes::default(),
            frames: Vec::new(),
            stacks: vec![StackId::EMPTY],
            profile: Profile {
                recorded: Recorded { started: SystemTime::now(), ..Recorded::default() },
                ..Profile::default()
            },
        }
    }

    /// Where the code is that will have to be named.
    pub fn read_from(&mut self, modules: Modules) {
        self.modules = modules;
    }

    /// The profile of a window.
    pub fn name(&mut self, window: Window) -> &Profile {
        self.frames.extend(window.frames);
        self.codes.0.extend(window.codes);
        let Naming { symbolizer, modules, codes, frames, stacks, profile } = self;
        let sources = NameSources { modules: &**modules, codes, perf_map: None };
        for (parent, frame) in window.stacks {
            let mut stack = stacks.get(parent.index()).copied().unwrap_or(StackId::EMPTY);
            let frame = frames.get(frame.0 as usize);
            for named in
                frame.map(|frame| symbolizer.symbolize(*frame, sources)).iter().flat_map(|named| named.iter())
            {
                let frame = profile.frames.intern(named.clone());
                stack = profile.stacks.push(stack, frame);
            }
            stacks.push(stack);
        }
        profile.samples = window.samples;
        for sample in &mut profile.samples {
            sample.stack = stacks.get(sample.stack.index()).copied().unwrap_or(StackId::EMPTY);
        }
        profile.processes = window.processes;
        profile.threads = window.threads;
        profile.recorded.duration_ns = window.end_ns;
        profile
    }
}

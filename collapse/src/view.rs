//! Views: which part of a profile is shown, and how its frames are named.
//!
//! Every writer takes a [`View`], so that one recording gives the same picture in every format:
//!
//! ```text
//!   Profile ── clock, threads: which samples ──┐
//!           ── kinds: which frames ────────────┼──> View: shown frames and stacks, one (or none) per sample
//!           ── lines, files, roots: how named ─┘        └─ rows: equal stacks added up
//! ```

use std::sync::Arc;

use regex::Regex;
use rustc_hash::FxHashMap;

use crate::file_name::FileNames;
use crate::{
    Frame, FrameId, FrameKind, Interner, Profile, RunState, Sample, StackId, StackTable, Thread, ThreadId,
};

/// Whose time is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// Threads running or waiting for a CPU: what py-spy shows without `--idle`. The default.
    #[default]
    OnCpu,
    /// Only threads running on a CPU (`--mode cpu`).
    Cpu,
    /// Everything: the whole wall clock, off-CPU included (`--idle`).
    WallClock,
    /// Only threads that neither run nor wait for a CPU.
    OffCpu,
    /// Only threads that hold their interpreter's GIL, whatever they do with it (`--gil`).
    Gil,
}

impl Clock {
    /// Whether this clock counts the sample.
    pub fn shows(self, sample: &Sample) -> bool {
        match self {
            Clock::OnCpu => sample.state.is_on_cpu_or_wants_it(),
            Clock::Cpu => sample.state == RunState::Running,
            Clock::WallClock => true,
            Clock::OffCpu => !sample.state.is_on_cpu_or_wants_it(),
            Clock::Gil => sample.holds_gil,
        }
    }

    /// What the clock counts, for titles.
    pub fn describe(self) -> &'static str {
        match self {
            Clock::OnCpu => "wall clock, on CPU or waiting for one",
            Clock::Cpu => "CPU time",
            Clock::WallClock => "whole wall clock, off-CPU included",
            Clock::OffCpu => "wall clock, off-CPU only",
            Clock::Gil => "wall clock, holding the GIL",
        }
    }
}

/// Whether stacks of different threads are added up. Process frames are added by themselves: see [`View`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Threads {
    /// Equal stacks of different threads are one row. The default.
    #[default]
    Merged,
    /// Each stack starts with the frame `thread (tid): name` (`-t`).
    Separate,
}

/// Whether frames are told apart by line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lines {
    /// `function (file:line)`. The default.
    #[default]
    Shown,
    /// `function (file)`: all samples of a function add up (`--function`, `--nolineno`).
    Dropped,
}

/// Which kinds of code frames are shown. States and errors are always shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Code {
    /// Python and native frames. The default.
    #[default]
    All,
    /// Python frames only (`--no-native`).
    Python,
    /// Native, inlined and kernel frames only (`--native-only`).
    Native,
}

impl Code {
    /// Whether frames of this kind are shown.
    pub fn shows(self, kind: FrameKind) -> bool {
        match self {
            Code::All => true,
            Code::Python => !kind.is_code() || kind == FrameKind::Python,
            Code::Native => kind != FrameKind::Python,
        }
    }

    /// The remark that stands for a stack of which nothing is left to show.
    fn nothing_left(self) -> &'static str {
        match self {
            Code::All => "[no frames]",
            Code::Python => "[no Python frames]",
            Code::Native => "[no native frames]",
        }
    }
}

/// What is shown. `ViewOptions::default()` is what `record` writes without flags.
#[derive(Clone, Debug, Default)]
pub struct ViewOptions {
    /// Whose time. Default is [`Clock::OnCpu`].
    pub clock: Clock,
    /// Added up over threads or not. Default is [`Threads::Merged`].
    pub threads: Threads,
    /// With or without lines. Default is [`Lines::Shown`].
    pub lines: Lines,
    /// How file and module names are printed. Default is [`FileNames::Short`] without search paths.
    pub files: FileNames,
    /// Kinds of frames. Default is [`Code::All`].
    pub code: Code,
    /// Only threads whose name matches (`--thread`). Default is every thread.
    pub thread_name: Option<Regex>,
}

/// Equal shown stacks, added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The shown stack: [`View::stack`].
    pub stack: StackId,
    /// Time in it, ns.
    pub weight_ns: u64,
    /// How many times it was seen.
    pub observations: u64,
}

/// A profile as it is shown: frames under their shown names, each stack ending in the state frame of a sample
/// that was not running.
///
/// Stacks start with a frame `process 1234:"name"` when the profile has several processes, and with
/// `thread (tid): name` under [`Threads::Separate`]; both texts are py-spy's. A stack of which no frame is left to
/// show becomes a remark, so that its time does not vanish.
#[derive(Clone, Debug)]
pub struct View<'p> {
    profile: &'p Profile,
    clock: Clock,
    frames: Interner<Frame>,
    stacks: StackTable,
    /// For each of the profile's samples the stack it is shown as.
    shown: Vec<Option<StackId>>,
    /// For each of the profile's threads whether the name filter lets it through.
    selected: Vec<bool>,
}

impl<'p> View<'p> {
    /// Looks at `profile` in the way of `options`.
    pub fn new(profile: &'p Profile, options: &ViewOptions) -> Self {
        let selected: Vec<bool> = (profile.threads.iter())
            .map(|thread| options.thread_name.as_ref().is_none_or(|name| name.is_match(&thread.name)))
            .collect();
        let mut renamer = Renamer::new(profile, options);
        let shown = (profile.samples.iter())
            .map(|sample| {
                let is_shown = selected[sample.thread.0 as usize] && options.clock.shows(sample);
                is_shown.then(|| renamer.shown_stack(sample))
            })
            .collect();
        View {
            profile,
            clock: options.clock,
            frames: renamer.frames,
            stacks: renamer.stacks,
            shown,
            selected,
        }
    }

    /// What is looked at.
    pub fn profile(&self) -> &'p Profile {
        self.profile
    }

    /// Whose time is shown.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The shown frames; ids in [`View::stack`] are places here.
    pub fn frames(&self) -> &[Frame] {
        self.frames.values()
    }

    /// The shown frames of a shown stack, root first.
    pub fn stack(&self, stack: StackId) -> Vec<FrameId> {
        self.stacks.root_to_leaf(stack)
    }

    /// Number of shown stacks; each `StackId::index` of a row or sample is below it.
    pub fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// All samples of the profile in its order, each with the stack it is shown as; `None`: not shown.
    pub fn samples(&self) -> impl Iterator<Item = (&'p Sample, Option<StackId>)> + '_ {
        self.profile.samples.iter().zip(self.shown.iter().copied())
    }

    /// The threads that the name filter lets through.
    pub fn threads(&self) -> impl Iterator<Item = (ThreadId, &'p Thread)> + '_ {
        (self.profile.threads.iter().zip(&self.selected).enumerate())
            .filter(|(_, (_, selected))| **selected)
            .map(|(at, (thread, _))| (ThreadId(at as u32), thread))
    }

    /// Time that [`View::threads`] lived in the recording, summed: 100 % of wall time, ns.
    pub fn wall_ns(&self) -> u64 {
        self.threads().map(|(_, thread)| thread.end_ns.saturating_sub(thread.start_ns)).sum()
    }

    /// Time shown, ns.
    pub fn shown_ns(&self) -> u64 {
        self.samples().filter(|(_, stack)| stack.is_some()).map(|(sample, _)| sample.weight_ns).sum()
    }

    /// Equal stacks added up, ordered by the texts of their frames from the root on.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: FxHashMap<StackId, Row> = FxHashMap::default();
        for (sample, stack) in self.samples() {
            let Some(stack) = stack else { continue };
            let row = rows.entry(stack).or_insert(Row { stack, weight_ns: 0, observations: 0 });
            row.weight_ns += sample.weight_ns;
            row.observations += u64::from(sample.observations);
        }
        let ranks = self.text_ranks();
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by_cached_key(|row| {
            self.stack(row.stack).iter().map(|frame| ranks[frame.0 as usize]).collect::<Vec<_>>()
        });
        rows
    }

    /// Each frame's place among all frames sorted by text, then by the frames' fields.
    fn text_ranks(&self) -> Vec<u32> {
        let mut order: Vec<usize> = (0..self.frames().len()).collect();
        order.sort_by_cached_key(|&at| (self.frames()[at].text(), self.frames()[at].clone()));
        let mut ranks = vec![0; order.len()];
        for (rank, at) in order.into_iter().enumerate() {
            ranks[at] = rank as u32;
        }
        ranks
    }
}

/// Turns the profile's stacks into shown ones, each once.
struct Renamer<'p> {
    profile: &'p Profile,
    options: &'p ViewOptions,
    frames: Interner<Frame>,
    stacks: StackTable,
    /// Per thread the shown stack of its process and thread frames.
    roots: Vec<StackId>,
    /// Shown frame of each of the profile's frames; `None` inside: left out.
    by_frame: FxHashMap<FrameId, Option<FrameId>>,
    /// Shown stack by root and the profile's stack, still without state.
    by_stack: FxHashMap<(StackId, StackId), StackId>,
}

impl<'p> Renamer<'p> {
    fn new(profile: &'p Profile, options: &'p ViewOptions) -> Self {
        let mut renamer = Renamer {
            profile,
            options,
            frames: Interner::default(),
            stacks: StackTable::default(),
            roots: Vec::new(),
            by_frame: FxHashMap::default(),
            by_stack: FxHashMap::default(),
        };
        renamer.roots = (0..profile.threads.len()).map(|at| renamer.root(ThreadId(at as u32))).collect();
        renamer
    }

    /// The shown stack of the process and thread frames that begin a thread's stacks.
    fn root(&mut self, thread: ThreadId) -> StackId {
        let mut root = StackId::EMPTY;
        if self.profile.processes.len() > 1 {
            let text = self.profile.process_of(thread).text();
            root = self.push_remark(root, FrameKind::Root, text);
        }
        if self.options.threads == Threads::Separate {
            root = self.push_remark(root, FrameKind::Root, self.profile.thread(thread).text());
        }
        root
    }

    fn push_remark(&mut self, stack: StackId, kind: FrameKind, text: impl Into<Arc<str>>) -> StackId {
        let frame = self.frames.intern(Frame::remark(kind, text));
        self.stacks.push(stack, frame)
    }

    fn shown_stack(&mut self, sample: &Sample) -> StackId {
        let root = self.roots[sample.thread.0 as usize];
        let code = match self.by_stack.get(&(root, sample.stack)) {
            Some(&known) => known,
            None => {
                let new = self.shown_code(root, sample.stack);
                self.by_stack.insert((root, sample.stack), new);
                new
            }
        };
        match sample.state.frame_name() {
            Some(name) => self.push_remark(code, FrameKind::State, name),
            None => code,
        }
    }

    fn shown_code(&mut self, root: StackId, stack: StackId) -> StackId {
        let mut shown = root;
        for frame in self.profile.frames_root_to_leaf(stack) {
            if let Some(frame) = self.shown_frame(frame) {
                shown = self.stacks.push(shown, frame);
            }
        }
        if shown != root {
            return shown;
        }
        self.push_remark(root, FrameKind::Error, self.options.code.nothing_left())
    }

    fn shown_frame(&mut self, id: FrameId) -> Option<FrameId> {
        if let Some(&known) = self.by_frame.get(&id) {
            return known;
        }
        let frame = self.profile.frames.get(id);
        let shown = self.options.code.shows(frame.kind).then(|| {
            let line = frame.line.filter(|_| self.options.lines == Lines::Shown);
            self.frames.intern(Frame { line, ..self.options.files.shown(frame) })
        });
        self.by_frame.insert(id, shown);
        shown
    }
}

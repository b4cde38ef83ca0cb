//! From observations to a recording: unwinding, merging, interning, and time.

use std::collections::BTreeMap;
use std::sync::Arc;

use stackclock_collapse::{Interner, Process, ProcessId, Seen, StackTable, ThreadId, Timeline};
use stackclock_unwinder::merge::{merge, python_only, resume_at_anchor};
use stackclock_unwinder::native::{ModuleStore, NativeStack, StackEnd};
use stackclock_unwinder::python::{CodeTable, PythonCapture, PythonStack, Reading};
use stackclock_unwinder::{Capture, Failure, FrameAddress, Incompleteness, RawFrame, Truncation};

use crate::backend::{Account, Observation, ObservationSink, PythonSight, Sight, Tick, Verdict};
use crate::options::FrameSelection;
use crate::target::{Life, Target, TargetThread, UnknownCode, describe, thread_name};

/// How a stack ends that leads into code mapped since the mappings were read.
const UNKNOWN_CODE: StackEnd = StackEnd::Truncated(Truncation::NoModule);

/// Collects a recording. Everything in it is numbers; names are looked up by
/// [`Recording::into_profile`](crate::Recording::into_profile).
#[derive(Debug)]
pub struct Recorder {
    pub(crate) selection: FrameSelection,
    pub(crate) modules: Arc<ModuleStore>,
    pub(crate) codes: CodeTable,
    pub(crate) frames: Interner<RawFrame>,
    pub(crate) stacks: StackTable,
    pub(crate) timeline: Timeline,
    pub(crate) tally: Tally,
    /// What is wrong with the last sample of each thread, by [`ThreadId`].
    flaws: Vec<Option<Flaw>>,
    native: NativeStack,
    /// The part of a native stack beyond code that could not be unwound.
    beyond: NativeStack,
    python: PythonStack,
    merged: Vec<RawFrame>,
}

/// Why a sample is not whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Flaw {
    Truncated(Truncation),
    Failed(Failure),
    Incomplete(Incompleteness),
}

/// Samples, and those that are not whole, counted by reason. A sleeping thread's sample counts again at each tick at
/// which it still holds.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Observations of threads.
    pub samples: u64,
    /// Stacks whose root was not reached.
    pub truncated: BTreeMap<Truncation, u64>,
    /// Threads or Python frames that could not be read.
    pub failed: BTreeMap<Failure, u64>,
    /// Stacks whose leaf was not reached.
    pub incomplete: BTreeMap<Incompleteness, u64>,
}

impl Tally {
    fn add(&mut self, flaw: Option<Flaw>) {
        self.samples += 1;
        match flaw {
            None => {}
            Some(Flaw::Truncated(why)) => *self.truncated.entry(why).or_default() += 1,
            Some(Flaw::Failed(why)) => *self.failed.entry(why).or_default() += 1,
            Some(Flaw::Incomplete(why)) => *self.incomplete.entry(why).or_default() += 1,
        }
    }

    /// Takes back what `add` counted, for a sample that a better one replaces.
    fn take_back(&mut self, flaw: Option<Flaw>) {
        self.samples -= 1;
        let counted = match flaw {
            None => return,
            Some(Flaw::Truncated(why)) => self.truncated.get_mut(&why),
            Some(Flaw::Failed(why)) => self.failed.get_mut(&why),
            Some(Flaw::Incomplete(why)) => self.incomplete.get_mut(&why),
        };
        if let Some(count) = counted {
            *count -= 1;
        }
    }

    /// Samples that are not whole, whatever the reason.
    pub fn errors(&self) -> u64 {
        let truncated: u64 = self.truncated.values().sum();
        truncated + self.failed.values().sum::<u64>() + self.incomplete.values().sum::<u64>()
    }
}

impl Recorder {
    /// An empty recording.
    pub fn new(selection: FrameSelection) -> Self {
        Recorder {
            selection,
            modules: Arc::default(),
            codes: CodeTable::default(),
            frames: Interner::default(),
            stacks: StackTable::default(),
            timeline: Timeline::default(),
            tally: Tally::default(),
            flaws: Vec::new(),
            native: NativeStack::default(),
            beyond: NativeStack::default(),
            python: PythonStack::default(),
            merged: Vec::new(),
        }
    }

    /// A process becomes a target.
    pub fn add_process(&mut self, process: Process) -> ProcessId {
        self.timeline.add_process(process)
    }

    /// Before a target is looked at: notes which threads came and went, what it has mapped since, and how its
    /// interpreter stands.
    pub fn catch_up(&mut self, target: &mut Target, tick: Tick) {
        let news = target.refresh_threads();
        for ended in &news.ended {
            self.thread_ended(ended, tick.at_ns, None);
        }
        for tid in news.began {
            target.adopt(tid);
        }
        if target.threads.is_empty() {
            target.life = Life::Ended;
            return;
        }
        if target.refresh_maps(tick.began, &self.modules) {
            self.rename(target);
        }
        target.python.begin_tick(target.pid, tick.began, &target.memory);
    }

    /// A thread was found gone, or the recording was over, at `at_ns`; `account` is its last, if it could be read.
    pub fn thread_ended(&mut self, thread: &TargetThread, at_ns: u64, account: Option<Account>) {
        if let Some(record) = thread.record {
            let awake = account.and_then(|account| thread.awake_until(&account));
            self.timeline.end_thread(record, at_ns, awake);
            if let Some(known) = self.timeline.thread_mut(record) {
                known.totals = thread.totals();
            }
        }
    }

    /// Gives the threads of a target the names they have now.
    pub fn rename(&mut self, target: &Target) {
        for thread in &target.threads {
            if let Some(known) = thread.record.and_then(|record| self.timeline.thread_mut(record))
                && let Some(name) = thread_name(target.pid, thread.tid)
            {
                known.name = name;
            }
        }
        if let Some(process) = self.timeline.process_mut(target.process) {
            let now = describe(target.pid);
            if !now.name.is_empty() {
                process.name = now.name;
            }
            if let Some(version) = target.python.version() {
                process.python = Some(version.to_string());
            }
        }
    }

    fn see(
        &mut self,
        target: &mut Target,
        index: usize,
        (at_ns, account): (u64, Account),
        seen: Seen,
        flaw: Option<Flaw>,
    ) {
        let Some(thread) = target.threads.get_mut(index) else { return };
        let record = match thread.record {
            Some(record) => {
                let awake = thread.awake_until(&account);
                self.timeline.observe(record, at_ns, seen, awake);
                record
            }
            None => {
                let name = thread_name(target.pid, thread.tid).unwrap_or_default();
                *thread.record.insert(self.timeline.add_thread(target.process, thread.tid, name, at_ns, seen))
            }
        };
        let slot = record.0 as usize;
        if self.flaws.len() <= slot {
            self.flaws.resize(slot + 1, None);
        }
        if thread.observed_at == Some(at_ns) {
            self.tally.take_back(self.flaws[slot]);
        }
        thread.observed_at = Some(at_ns);
        thread.account = Some(account);
        self.flaws[slot] = flaw;
        self.tally.add(flaw);
    }

    /// Makes `merged`, leaf first, of a capture.
    fn merge(
        &mut self,
        target: &mut Target,
        native: &Capture,
        python: PythonSight<&PythonCapture>,
    ) -> Reached {
        self.python.clear();
        if let PythonSight::Captured(capture) = python {
            let Target { python, memory, .. } = target;
            python.resolve(capture, memory, &mut self.codes, &mut self.python);
        }
        if self.selection == FrameSelection::PythonOnly && target.python.interpreter().is_some() {
            python_only(&self.python, &mut self.merged);
            return Reached { end: StackEnd::Root, gap: None };
        }
        self.unwind(target, native);
        let gap = self.resume(target, native);
        merge(&self.native, &native.stack, &self.python, target.python.eval_code(), &mut self.merged);
        Reached { end: self.native.end, gap }
    }

    /// Makes `merged` of the Python frames of a thread that ran on; says what is missing of it.
    fn read_running(
        &mut self,
        target: &mut Target,
        python: PythonSight<(&PythonCapture, Reading)>,
    ) -> Option<Flaw> {
        let (capture, reading) = match python {
            PythonSight::Captured(read) => read,
            PythonSight::None => return Some(Flaw::Incomplete(Incompleteness::NotStopped)),
            PythonSight::Failed => return Some(Flaw::Failed(Failure::PythonUnreadable)),
        };
        let Target { python, memory, .. } = target;
        python.resolve(capture, memory, &mut self.codes, &mut self.python);
        python_only(&self.python, &mut self.merged);
        match reading {
            Reading::RootSide => Some(Flaw::Incomplete(Incompleteness::Changing)),
            Reading::Whole if self.merged.is_empty() => Some(Flaw::Incomplete(Incompleteness::NotStopped)),
            Reading::Whole => None,
        }
    }

    /// Goes on beyond code that cannot be unwound (a JIT's), as often as Python frames show the way. Gives the reason of
    /// the innermost gap that this leaves.
    fn resume(&mut self, target: &mut Target, capture: &Capture) -> Option<Truncation> {
        let mut gap = None;
        for _ in 0..self.python.runs.len() {
            let StackEnd::Truncated(why) = self.native.end else { break };
            let eval = target.python.eval_code();
            let Some((from, registers)) =
                resume_at_anchor(&mut self.native, &self.python, eval, &capture.stack)
            else {
                break;
            };
            gap = gap.or(Some(why));
            let Target { unwinder, space, .. } = target;
            unwinder.unwind(space, from, &registers, &capture.stack, &mut self.beyond);
            self.native.frames.append(&mut self.beyond.frames);
            self.native.end = self.beyond.end;
        }
        gap
    }

    fn unwind(&mut self, target: &mut Target, capture: &Capture) {
        let start = FrameAddress::InstructionPointer(capture.registers.ip);
        let Target { unwinder, space, .. } = target;
        unwinder.unwind(space, start, &capture.registers, &capture.stack, &mut self.native);
        if self.native.end == UNKNOWN_CODE && target.code_is_unknown(&self.modules) == UnknownCode::MapsRead {
            let Target { unwinder, space, .. } = target;
            unwinder.unwind(space, start, &capture.registers, &capture.stack, &mut self.native);
            if self.native.end != UNKNOWN_CODE {
                target.code_is_known();
            }
        }
    }
}

impl ObservationSink for Recorder {
    fn observe(&mut self, target: &mut Target, index: usize, observation: Observation<'_>) -> Verdict {
        let Observation { at_ns, state, holds_gil, account, sight } = observation;
        self.merged.clear();
        let (flaw, verdict) = match sight {
            Sight::Captured { native, python } => {
                let reached = self.merge(target, native, python);
                let asked = target.threads.get(index).map_or(0, |thread| thread.stack_bytes);
                (flaw_of(reached, python), verdict_of(reached, native.stack.bytes.len() >= asked))
            }
            Sight::Running(python) => (self.read_running(target, python), Verdict::Done),
            Sight::Failed(why) => (Some(Flaw::Failed(why)), Verdict::Done),
        };
        match flaw {
            Some(Flaw::Failed(why)) => self.merged.push(RawFrame::Failed(why)),
            Some(Flaw::Incomplete(why)) => self.merged.insert(0, RawFrame::Incomplete(why)),
            Some(Flaw::Truncated(_)) | None => {}
        }
        let frames = &mut self.frames;
        let stack = self.stacks.intern(self.merged.iter().rev().map(|&frame| frames.intern(frame)));
        self.see(target, index, (at_ns, account), Seen { state, stack, holds_gil }, flaw);
        verdict
    }

    fn same(&mut self, thread: ThreadId) {
        self.timeline.observe_same(thread);
        self.tally.add(self.flaws.get(thread.0 as usize).copied().flatten());
    }
}

/// How far a thread's frames were found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reached {
    end: StackEnd,
    /// Why frames may be missing in the middle, if they may.
    gap: Option<Truncation>,
}

impl Reached {
    /// Why frames are missing; where it happened more than once, the innermost reason.
    fn missing(self) -> Option<Truncation> {
        match self.end {
            StackEnd::Truncated(why) => Some(self.gap.unwrap_or(why)),
            StackEnd::Root => self.gap,
        }
    }
}

fn flaw_of(reached: Reached, python: PythonSight<&PythonCapture>) -> Option<Flaw> {
    match python {
        PythonSight::Failed => Some(Flaw::Failed(Failure::PythonUnreadable)),
        _ => reached.missing().map(Flaw::Truncated),
    }
}

/// A stack that was copied to its end does not get longer. Unknown code in a gap is a JIT's, and seldom becomes known: it
/// is not worth another look.
fn verdict_of(reached: Reached, copy_was_full: bool) -> Verdict {
    let lacks = |why| reached.gap == Some(why) || reached.end == StackEnd::Truncated(why);
    match reached.end {
        _ if copy_was_full && lacks(Truncation::OutOfBytes) => Verdict::WantsMoreStack,
        _ if lacks(Truncation::UnknownRegister) => Verdict::WantsRegisters,
        UNKNOWN_CODE => Verdict::WantsAnotherLook,
        _ => Verdict::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::{Flaw, Reached, flaw_of, verdict_of};
    use crate::backend::{PythonSight, Verdict};
    use stackclock_unwinder::Truncation;
    use stackclock_unwinder::native::StackEnd;

    fn with_gap(gap: Truncation, end: StackEnd) -> Reached {
        Reached { end, gap: Some(gap) }
    }

    #[test]
    fn a_gap_counts_as_truncated_and_asks_for_what_would_close_it() {
        let no_info = with_gap(Truncation::NoUnwindInfo, StackEnd::Root);
        assert_eq!(flaw_of(no_info, PythonSight::None), Some(Flaw::Truncated(Truncation::NoUnwindInfo)));
        assert_eq!(verdict_of(no_info, true), Verdict::Done);
        let short = with_gap(Truncation::OutOfBytes, StackEnd::Root);
        assert_eq!(verdict_of(short, true), Verdict::WantsMoreStack);
        assert_eq!(verdict_of(short, false), Verdict::Done, "there are no more bytes");
        let blocked = with_gap(Truncation::UnknownRegister, StackEnd::Root);
        assert_eq!(verdict_of(blocked, true), Verdict::WantsRegisters);
        let of_a_jit = with_gap(Truncation::NoModule, StackEnd::Root);
        assert_eq!(verdict_of(of_a_jit, true), Verdict::Done);
    }

    #[test]
    fn the_innermost_reason_is_the_one_that_counts() {
        let twice = with_gap(Truncation::NoUnwindInfo, StackEnd::Truncated(Truncation::NoModule));
        assert_eq!(flaw_of(twice, PythonSight::None), Some(Flaw::Truncated(Truncation::NoUnwindInfo)));
        let whole = Reached { end: StackEnd::Root, gap: None };
        assert_eq!(flaw_of(whole, PythonSight::None), None);
        assert_eq!(verdict_of(whole, true), Verdict::Done);
    }
}

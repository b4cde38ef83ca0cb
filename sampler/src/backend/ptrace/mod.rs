//! The backend that works wherever ptrace does, without root on one's own processes.
//!
//! ```text
//!   schedstat ── has not run since it slept ──────────────────────────────► same        0.6 us
//!       │
//!   syscall ──── sleeps ──► copy ──► schedstat unchanged? ── yes ─────────► observation  4 us   (asleep.rs)
//!       │                                     └─ no: it ran ─┐
//!       └─────── runs ──► seize, interrupt, copy, detach ◄───┘────────────► observation 40 us   (awake.rs)
//! ```
//!
//! Only threads that are on a CPU, or want one, are ever stopped, one at a time; and only after all the others have been
//! looked at: a stop frees a CPU, so that the next thread would be seen as what the stop made of it.
//! Where nothing may be stopped, of those only Python frames are read (unstopped.rs).

mod asleep;
mod awake;
mod unstopped;

use std::time::Duration;

use stackclock_collapse::RunState;
use stackclock_unwinder::native::NativeStack;
use stackclock_unwinder::python::{PythonCapture, RunningReader};
use stackclock_unwinder::{Avma, Capture, Registers, StackBytes};

use super::{Account, CaptureBackend, Observation, ObservationSink, PythonSight, Sight, Tick, Verdict};
use crate::clock::Instant;
use crate::options::{FrameSelection, Stops};
use crate::proc::{SchedStat, SyscallState};
use crate::ptrace::{PendingStop, Tracer};
use crate::target::{Rest, Target, TargetThread};

/// How long a tick waits for one thread to stop. A thread that has a CPU stops within 60 us; one that has none
/// may take many milliseconds, and its stop is then collected between ticks.
const STOP_BOUND: Duration = Duration::from_micros(500);

/// Stops running threads, reads sleeping ones.
#[derive(Debug)]
pub struct PtraceBackend {
    tracer: Tracer,
    frames: FrameSelection,
    stops: Stops,
    capture: Capture,
    python: PythonCapture,
    running: RunningReader,
    /// Working memory of learning.
    scratch: NativeStack,
    pending: Vec<Pending>,
    /// Threads of the target in hand that are awake at this tick.
    awake: Vec<usize>,
    stopped_ns: u64,
}

/// A thread that was told to stop at a tick and has not had a CPU since.
#[derive(Debug)]
struct Pending {
    pid: u32,
    tid: u32,
    tick: Tick,
    /// Counters at the tick.
    before: SchedStat,
    /// What a sleeper was doing when it was told to stop.
    asleep: Option<(RunState, Account)>,
    stop: PendingStop,
}

/// What became of looking at a thread.
enum Look {
    /// An observation was made, or will be when the thread stops.
    Done,
    /// It is awake, or ran while it was being read: it must be stopped to be read.
    Awake,
    /// It has ended.
    Gone,
}

/// One look at one thread.
struct Subject<'a> {
    tick: Tick,
    target: &'a mut Target,
    index: usize,
    sink: &'a mut dyn ObservationSink,
}

impl Subject<'_> {
    fn thread(&mut self) -> Option<&mut TargetThread> {
        self.target.threads.get_mut(self.index)
    }
}

impl PtraceBackend {
    /// A backend whose stops are made by the calling thread.
    pub fn new(tracer: Tracer, frames: FrameSelection, stops: Stops) -> Self {
        PtraceBackend {
            tracer,
            frames,
            stops,
            capture: Capture { registers: Registers::new(Avma(0), Avma(0)), stack: StackBytes::default() },
            python: PythonCapture::default(),
            running: RunningReader::default(),
            scratch: NativeStack::default(),
            pending: Vec::new(),
            awake: Vec::new(),
            stopped_ns: 0,
        }
    }

    /// The tracer, which also knows how children ended.
    pub fn tracer(&mut self) -> &mut Tracer {
        &mut self.tracer
    }

    /// Whether a thread was told to stop and has not stopped yet.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Looks at one thread of a target.
    pub fn observe_thread(
        &mut self,
        tick: Tick,
        target: &mut Target,
        index: usize,
        sink: &mut dyn ObservationSink,
    ) {
        let mut subject = Subject { tick, target, index, sink };
        let look = match self.look(&mut subject) {
            Look::Awake => self.look_at_awake(&mut subject),
            settled => settled,
        };
        if let Look::Gone = look {
            target.thread_is_gone(index);
        }
    }

    /// Looks at a thread as far as that can be done without stopping it.
    fn look(&mut self, subject: &mut Subject<'_>) -> Look {
        let Some(thread) = subject.thread() else { return Look::Gone };
        let Ok(before) = thread.schedstat() else { return Look::Gone };
        let ran = before.timeslices != thread.last.timeslices;
        thread.last = before;
        match thread.rest {
            Rest::StopPending => return Look::Done,
            Rest::Asleep if !ran => {
                if let Some(record) = thread.record {
                    subject.sink.same(record);
                }
                return Look::Done;
            }
            Rest::Asleep | Rest::Unknown => thread.rest = Rest::Unknown,
        }
        let Ok(syscall) = thread.syscall() else { return Look::Gone };
        match syscall {
            SyscallState::Running => Look::Awake,
            asleep => self.look_at_asleep(asleep, None, subject),
        }
    }

    /// Hands the last copy to the recorder.
    fn report(
        &self,
        state: RunState,
        account: Account,
        python: PythonSight<()>,
        subject: &mut Subject<'_>,
    ) -> Verdict {
        let Subject { tick, target, index, sink } = subject;
        let sight = Sight::Captured { native: &self.capture, python: python.with(&self.python) };
        let holds_gil = target.holds_gil(*index);
        sink.observe(target, *index, Observation { at_ns: tick.at_ns, state, holds_gil, account, sight })
    }

    /// Copies what unwinding and the Python reader need, of a thread that stands still, or will be found out if
    /// it did not.
    fn copy(&mut self, registers: Registers, subject: &mut Subject<'_>) -> PythonSight<()> {
        let Subject { target, index, .. } = subject;
        let index = *index;
        self.capture.registers = registers;
        let wanted = match self.frames {
            FrameSelection::PythonOnly if target.python.interpreter().is_some() => 0,
            _ => target.threads.get(index).map_or(0, |thread| thread.stack_bytes),
        };
        let stack = &mut self.capture.stack;
        stack.start = registers.stack_copy_start();
        stack.bytes.resize(wanted, 0);
        // What cannot be read any more lies beyond the stack's end; the unwinder says if it was needed.
        let read = target.memory.read_up_to(stack.start, &mut stack.bytes).unwrap_or(0);
        stack.bytes.truncate(read);
        match self.frames {
            FrameSelection::NativeOnly => PythonSight::None,
            FrameSelection::Merged | FrameSelection::PythonOnly => {
                target.capture_python(index, &mut self.python)
            }
        }
    }
}

impl CaptureBackend for PtraceBackend {
    fn observe(&mut self, tick: Tick, target: &mut Target, sink: &mut dyn ObservationSink) {
        self.tracer.collect_dead();
        let mut awake = std::mem::take(&mut self.awake);
        for index in 0..target.threads.len() {
            match self.look(&mut Subject { tick, target, index, sink }) {
                Look::Done => {}
                Look::Awake => awake.push(index),
                Look::Gone => target.thread_is_gone(index),
            }
        }
        for index in awake.drain(..) {
            if let Look::Gone = self.look_at_awake(&mut Subject { tick, target, index, sink }) {
                target.thread_is_gone(index);
            }
        }
        self.awake = awake;
    }

    fn wait_until(&mut self, deadline: Instant, targets: &mut [Target], sink: &mut dyn ObservationSink) {
        self.collect_pending(targets, sink);
        let now = Instant::now();
        if now < deadline {
            self.tracer.wait_for_child_signal(Duration::from_nanos(deadline.ns_since(now)));
            self.collect_pending(targets, sink);
        }
    }

    fn stopped_ns(&self) -> u64 {
        self.stopped_ns
    }
}

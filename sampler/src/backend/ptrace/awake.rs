//! Stopping a thread that is on a CPU or wants one, just long enough to copy it.
//!
//! Which of the two it was is told afterwards by the scheduler's counters. A thread that was on a CPU stops in
//! the timeslice it was in; one that was waiting must be given a CPU first, which starts a new timeslice:
//!
//! ```text
//!   tick     stop                     timeslices   waited between     it was
//!    │  runs ─┤                       n    -> n                       Running
//!    │  waits ........ runs ─┤        n    -> n+1   >= since the tick Runnable
//!   ─┤  waits . runs ─┤               n    -> n+1   <  since the tick Running: our own waking up took its CPU
//! ```

use stackclock_collapse::RunState;
use stackclock_unwinder::Failure;

use super::{Look, Pending, PtraceBackend, STOP_BOUND, Subject};
use crate::backend::{Observation, ObservationSink, Sight, Tick, Verdict};
use crate::clock::Instant;
use crate::proc::SchedStat;
use crate::ptrace::{Interrupt, StoppedThread};
use crate::target::{Rest, Target};

impl PtraceBackend {
    /// Stops and copies a thread that was not asleep.
    pub(super) fn look_at_awake(&mut self, subject: &mut Subject<'_>) -> Look {
        let Some((tid, before)) = subject.thread().map(|thread| (thread.tid, thread.last)) else {
            return Look::Gone;
        };
        let begun = Instant::now();
        match self.tracer.interrupt(tid, STOP_BOUND) {
            Interrupt::Stopped(stopped) => self.take(stopped, begun, None, before, subject),
            Interrupt::Pending(stop) => {
                let pid = subject.target.pid;
                self.pending.push(Pending { pid, tid, tick: subject.tick, before, stop });
                if let Some(thread) = subject.thread() {
                    thread.rest = Rest::StopPending;
                }
            }
            Interrupt::Gone => return Look::Gone,
            Interrupt::Refused => fail(RunState::Running, Failure::CannotStop, subject),
        }
        Look::Done
    }

    /// Hands over the threads that have stopped since they were asked to.
    pub(super) fn collect_pending(&mut self, targets: &mut [Target], sink: &mut dyn ObservationSink) {
        for pending in std::mem::take(&mut self.pending) {
            let Pending { pid, tid, tick, before, stop } = pending;
            let found = targets.iter_mut().find(|target| target.pid == pid).and_then(|target| {
                let index = target.threads.iter().position(|thread| thread.tid == tid)?;
                Some((target, index))
            });
            match (self.tracer.poll(stop), found) {
                (Interrupt::Stopped(stopped), Some((target, index))) => {
                    let mut subject = Subject { tick, target, index, sink: &mut *sink };
                    self.take(stopped, Instant::now(), Some(RunState::Runnable), before, &mut subject);
                }
                (Interrupt::Stopped(stopped), None) => self.tracer.release(stopped),
                (Interrupt::Pending(stop), _) => self.pending.push(Pending { pid, tid, tick, before, stop }),
                (Interrupt::Gone | Interrupt::Refused, Some((target, index))) => target.thread_is_gone(index),
                (Interrupt::Gone | Interrupt::Refused, None) => {}
            }
        }
    }

    /// Copies a stopped thread, lets it go, then reports it. `begun` is when its time stood still for us; a thread
    /// whose stop had to be waited for is known to have been `Runnable`.
    fn take(
        &mut self,
        stopped: StoppedThread,
        begun: Instant,
        known: Option<RunState>,
        before: SchedStat,
        subject: &mut Subject<'_>,
    ) {
        let stopped_at = Instant::now();
        let registers = stopped.registers();
        let python = registers.map(|registers| self.copy(registers, subject));
        let after = subject.thread().and_then(|thread| thread.schedstat().ok());
        self.tracer.release(stopped);
        let now = Instant::now();
        let after = after.unwrap_or(before);
        // A thread that waited for a CPU before it could stop was not stopped meanwhile.
        let waited_ns = if known.is_some() { 0 } else { after.wait_ns.saturating_sub(before.wait_ns) };
        self.stopped_ns += now.ns_since(begun).saturating_sub(waited_ns);
        let state = known.unwrap_or_else(|| state_at(subject.tick, stopped_at, before, after));
        if let Some(thread) = subject.thread() {
            thread.rest = Rest::Unknown;
        }
        match python {
            Ok(python) => {
                if self.report(state, python, subject) == Verdict::WantsMoreStack
                    && let Some(thread) = subject.thread()
                {
                    // For the next sample: this thread runs again already.
                    thread.copy_more_stack();
                }
            }
            Err(_) => fail(state, Failure::ThreadUnreadable, subject),
        }
    }
}

/// Whether a thread that is stopped now was on a CPU at the tick (module docs).
fn state_at(tick: Tick, stopped_at: Instant, before: SchedStat, after: SchedStat) -> RunState {
    let waited_ns = after.wait_ns.saturating_sub(before.wait_ns);
    match after.timeslices != before.timeslices && waited_ns >= stopped_at.ns_since(tick.began) {
        true => RunState::Runnable,
        false => RunState::Running,
    }
}

fn fail(state: RunState, failure: Failure, subject: &mut Subject<'_>) {
    let Subject { tick, target, index, sink } = subject;
    let holds_gil = target.holds_gil(*index);
    let sight = Sight::Failed(failure);
    sink.observe(target, *index, Observation { at_ns: tick.at_ns, state, holds_gil, sight });
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: SchedStat = SchedStat { cpu_ns: 0, wait_ns: 1000, timeslices: 7 };

    fn state(timeslices: u64, wait_ns: u64) -> RunState {
        let tick = Tick { began: Instant(5_000), at_ns: 0 };
        state_at(tick, Instant(55_000), BEFORE, SchedStat { cpu_ns: 0, wait_ns, timeslices })
    }

    #[test]
    fn a_wait_longer_than_the_look_was_there_before() {
        assert_eq!(state(7, 1000), RunState::Running);
        assert_eq!(state(8, 1000 + 4_000_000), RunState::Runnable);
    }

    #[test]
    fn a_wait_shorter_than_the_look_was_our_own_doing() {
        assert_eq!(state(8, 1000 + 20_000), RunState::Running);
    }
}

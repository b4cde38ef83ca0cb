//! Stopping a thread that is on a CPU or wants one, just long enough to copy it.
//!
//! Which of the two it was is told afterwards by the scheduler's counters. A thread that was on a CPU stops in
//! the timeslice it was in; one that was waiting must be given a CPU first, which ends a wait and begins a timeslice:
//!
//! ```text
//!   before  tick          stop     waited until the stop       it was
//!           │     runs ────┤       not at all                  Running
//!      waits│...... runs ──┤       longer than since the tick  Runnable
//!       runs│waits . runs ─┤       since the tick              Running: our own waking up took its CPU
//! ```

use stackclock_collapse::RunState;
use stackclock_unwinder::Failure;

use super::{Look, Pending, PtraceBackend, STOP_BOUND, Subject};
use crate::backend::{Account, Observation, ObservationSink, Sight, Tick, Verdict};
use crate::clock::Instant;
use crate::options::Stops;
use crate::proc::{SchedStat, SyscallState};
use crate::ptrace::{Interrupt, PendingStop, StoppedThread};
use crate::target::{Rest, Target};

impl PtraceBackend {
    /// Stops and copies a thread that was not asleep at the tick.
    pub(super) fn look_at_awake(&mut self, subject: &mut Subject<'_>) -> Look {
        let Some((tid, before)) = subject.thread().map(|thread| (thread.tid, thread.last)) else {
            return Look::Gone;
        };
        match self.look_at_fallen_asleep(before, subject) {
            Look::Awake if self.stops == Stops::Never => return self.look_at_running(subject),
            Look::Awake => {}
            settled => return settled,
        }
        let begun = Instant::now();
        match self.tracer.interrupt(tid, STOP_BOUND) {
            Interrupt::Stopped(stopped) => self.take(stopped, begun, before, None, subject),
            Interrupt::Pending(stop) => {
                let rest = self.put_off(stop, None, subject);
                if let Some(thread) = subject.thread() {
                    thread.rest = rest;
                }
            }
            Interrupt::Gone => return Look::Gone,
            Interrupt::Refused => {
                let account = Account::at_once(before);
                fail(RunState::Running, account, Failure::CannotStop, subject);
            }
        }
        Look::Done
    }

    /// Reads a thread that was awake at the tick, with counters `before`, if it sleeps by now: then it needs no stop.
    fn look_at_fallen_asleep(&mut self, before: SchedStat, subject: &mut Subject<'_>) -> Look {
        let began = subject.tick.began;
        let Some(thread) = subject.thread() else { return Look::Gone };
        let (Ok(now), Ok(syscall)) = (thread.schedstat(), thread.syscall()) else { return Look::Gone };
        if syscall == SyscallState::Running {
            return Look::Awake;
        }
        let waited_ns = now.wait_ns.saturating_sub(before.wait_ns);
        let lag_ns = Instant::now().ns_since(began);
        // When it fell asleep is not known, only for how long it waited before.
        let lag_waiting_ns = waited_ns.min(lag_ns);
        let account = Account { counters: now, lag_ns: lag_waiting_ns, lag_waiting_ns };
        thread.last = now;
        let look = self.look_at_asleep(syscall, Some((state_at(lag_ns, waited_ns), account)), subject);
        if let (Look::Awake, Some(thread)) = (&look, subject.thread()) {
            thread.last = before;
        }
        look
    }

    /// Leaves a stop that did not come within the bound to [`collect_pending`](Self::collect_pending). Of a sleeper it is
    /// known what it was doing.
    pub(super) fn put_off(
        &mut self,
        stop: PendingStop,
        asleep: Option<(RunState, Account)>,
        subject: &mut Subject<'_>,
    ) -> Rest {
        let (pid, tick) = (subject.target.pid, subject.tick);
        if let Some(thread) = subject.thread() {
            self.pending.push(Pending { pid, tid: thread.tid, tick, before: thread.last, asleep, stop });
        }
        Rest::StopPending
    }

    /// Hands over the threads that have stopped since they were asked to.
    pub(super) fn collect_pending(&mut self, targets: &mut [Target], sink: &mut dyn ObservationSink) {
        for pending in std::mem::take(&mut self.pending) {
            let Pending { pid, tid, tick, before, asleep, stop } = pending;
            match (self.tracer.poll(stop), find(targets, pid, tid)) {
                (Interrupt::Stopped(stopped), Some((target, index))) => {
                    let mut subject = Subject { tick, target, index, sink: &mut *sink };
                    self.take(stopped, Instant::now(), before, asleep, &mut subject);
                }
                (Interrupt::Stopped(stopped), None) => self.tracer.release(stopped),
                (Interrupt::Pending(stop), _) => {
                    self.pending.push(Pending { pid, tid, tick, before, asleep, stop });
                }
                (Interrupt::Gone | Interrupt::Refused, Some((target, index))) => target.thread_is_gone(index),
                (Interrupt::Gone | Interrupt::Refused, None) => {}
            }
        }
    }

    /// Observes the threads that have not stopped in spite of all waiting: asleep where no stop reaches them, or without
    /// a CPU. To be called when nobody will wait for them any more.
    pub fn observe_pending(&mut self, tick: Tick, targets: &mut [Target], sink: &mut dyn ObservationSink) {
        for Pending { pid, tid, .. } in std::mem::take(&mut self.pending) {
            let Some((target, index)) = find(targets, pid, tid) else { continue };
            let mut subject = Subject { tick, target, index, sink: &mut *sink };
            let Some(thread) = subject.thread() else { continue };
            let look = match (thread.schedstat(), thread.syscall()) {
                (Ok(now), Ok(syscall)) => {
                    thread.last = now;
                    match self.look_at_asleep(syscall, None, &mut subject) {
                        Look::Awake => {
                            let account = Account::at_once(now);
                            fail(RunState::Runnable, account, Failure::NotStopped, &mut subject);
                            Look::Done
                        }
                        settled => settled,
                    }
                }
                _ => Look::Gone,
            };
            if let Look::Gone = look {
                target.thread_is_gone(index);
            }
        }
    }

    /// Copies a stopped thread, lets it go, then reports it. `begun` is when its time stood still for us; `asleep` what a
    /// sleeper did before.
    fn take(
        &mut self,
        stopped: StoppedThread,
        begun: Instant,
        before: SchedStat,
        asleep: Option<(RunState, Account)>,
        subject: &mut Subject<'_>,
    ) {
        let stopped_at = Instant::now();
        let registers = stopped.registers();
        let python = registers.map(|registers| self.copy(registers, subject));
        let after = subject.thread().and_then(|thread| thread.schedstat().ok());
        self.tracer.release(stopped);
        let after = after.unwrap_or(before);
        let waited_ns = after.wait_ns.saturating_sub(before.wait_ns);
        let lag_ns = stopped_at.ns_since(subject.tick.began);
        // A thread that waited for a CPU before it could stop was not stopped meanwhile.
        self.stopped_ns += Instant::now().ns_since(begun).saturating_sub(waited_ns);
        let (state, account) = asleep.unwrap_or_else(|| {
            let account = Account { counters: after, lag_ns, lag_waiting_ns: waited_ns.min(lag_ns) };
            (state_at(lag_ns, waited_ns), account)
        });
        if let Some(thread) = subject.thread() {
            thread.rest = Rest::Unknown;
        }
        match python {
            Ok(python) => {
                if self.report(state, account, python, subject) == Verdict::WantsMoreStack
                    && let Some(thread) = subject.thread()
                {
                    // For the next sample: this thread runs again already.
                    thread.copy_more_stack();
                }
            }
            Err(_) => fail(state, account, Failure::ThreadUnreadable, subject),
        }
    }
}

fn find(targets: &mut [Target], pid: u32, tid: u32) -> Option<(&mut Target, usize)> {
    let target = targets.iter_mut().find(|target| target.pid == pid)?;
    let index = target.threads.iter().position(|thread| thread.tid == tid)?;
    Some((target, index))
}

/// Between waking up and reading the clock for the tick, ns: a thread whose CPU we took has waited so much longer.
const WAKING_UP_NS: u64 = 20_000;

/// Whether a thread that stopped `lag_ns` after the tick, having `waited_ns` for a CPU, was on one at the tick (module
/// docs).
fn state_at(lag_ns: u64, waited_ns: u64) -> RunState {
    match waited_ns > lag_ns + WAKING_UP_NS {
        true => RunState::Runnable,
        false => RunState::Running,
    }
}

fn fail(state: RunState, account: Account, failure: Failure, subject: &mut Subject<'_>) {
    let Subject { tick, target, index, sink } = subject;
    let holds_gil = target.holds_gil(*index);
    let sight = Sight::Failed(failure);
    sink.observe(target, *index, Observation { at_ns: tick.at_ns, state, holds_gil, account, sight });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_longer_than_the_look_was_there_before() {
        assert_eq!(state_at(50_000, 0), RunState::Running);
        assert_eq!(state_at(50_000, 4_000_000), RunState::Runnable);
        assert_eq!(state_at(3_000_000, 4_000_000), RunState::Runnable);
    }

    #[test]
    fn a_wait_that_began_with_the_look_was_our_own_doing() {
        assert_eq!(state_at(50_000, 20_000), RunState::Running);
        assert_eq!(state_at(3_000_000, 3_005_000), RunState::Running);
    }
}

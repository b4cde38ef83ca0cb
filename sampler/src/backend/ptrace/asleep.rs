//! Reading a sleeping thread without stopping it.
//!
//! Its registers are not needed in full: the kernel tells where it entered, and its stack lies still for as long
//! as it sleeps. Whether it slept all the while is the sequence check: the scheduler's count of timeslices
//! before and after must be equal, or nothing that was read counts.
//!
//! ```text
//!   timeslices ─► syscall ─► state ─► stack, Python frames ─► timeslices        (UNWINDING.md 1: of 455,154 reads
//!       n            in futex  S          copied                  n: accepted    that passed, none was torn)
//!       n            in futex  S          copied                n+1: it ran
//! ```

use stackclock_collapse::{RunState, Syscall};
use stackclock_unwinder::{Avma, Registers};

use super::{Look, PtraceBackend, STOP_BOUND, Subject};
use crate::arch;
use crate::backend::{Account, Verdict};
use crate::clock::Instant;
use crate::options::Stops;
use crate::proc::{SyscallState, TaskState};
use crate::ptrace::{Interrupt, SEES_INTERRUPT};
use crate::target::Rest;

impl PtraceBackend {
    /// Reads a thread that slept when `syscall` was read. One that was awake at the tick, and only fell asleep since, is
    /// given with what it was then: its stack is the best that is known of that time.
    pub(super) fn look_at_asleep(
        &mut self,
        syscall: SyscallState,
        awake_at_tick: Option<(RunState, Account)>,
        subject: &mut Subject<'_>,
    ) -> Look {
        let Some(thread) = subject.thread() else { return Look::Gone };
        let slept = Account::at_once(thread.last);
        let Ok(task) = thread.state() else { return Look::Gone };
        let state = match (task, syscall) {
            (TaskState::Dead, _) => return Look::Gone,
            (TaskState::Running, _) | (_, SyscallState::Running) => return Look::Awake,
            (TaskState::Stopped, _) => RunState::Stopped,
            (TaskState::Uninterruptible, _) | (_, SyscallState::NotInCall { .. }) => {
                RunState::Uninterruptible
            }
            (TaskState::Sleeping, SyscallState::InCall { number, arguments, .. }) => {
                sleeping_in(number, arguments, subject)
            }
        };
        let (state, account) = awake_at_tick.unwrap_or((state, slept));
        let rest = loop {
            let python = self.copy(registers(&syscall), subject);
            match subject.thread().map(|thread| thread.schedstat()) {
                Some(Ok(after)) if after.timeslices == slept.counters.timeslices => {}
                Some(Ok(_)) => return Look::Awake,
                _ => return Look::Gone,
            }
            match self.report(state, account, python, subject) {
                Verdict::WantsMoreStack
                    if subject.thread().is_some_and(|thread| thread.copy_more_stack()) =>
                {
                    continue;
                }
                Verdict::WantsRegisters if self.stops == Stops::Allowed => {
                    break self.ask_for_registers(state, account, &syscall, subject);
                }
                Verdict::WantsAnotherLook => break Rest::Unknown,
                Verdict::WantsMoreStack | Verdict::WantsRegisters | Verdict::Done => break Rest::Asleep,
            }
        };
        if let Some(thread) = subject.thread() {
            // What it was at the tick does not hold for its sleep.
            thread.rest = if awake_at_tick.is_some() && rest == Rest::Asleep { Rest::Unknown } else { rest };
        }
        Look::Done
    }

    /// The fallback for the few sleepers whose frame pointer must be known and cannot be derived: one short stop,
    /// after which every thread that sleeps at the same instruction can do without.
    ///
    /// Not in a call where the program would see `EINTR`, and not in uninterruptible sleep, which a stop would
    /// have to outwait.
    fn ask_for_registers(
        &mut self,
        state: RunState,
        account: Account,
        syscall: &SyscallState,
        subject: &mut Subject<'_>,
    ) -> Rest {
        let (harmless, ip) = match *syscall {
            SyscallState::InCall { number, ip, .. } => {
                (state != RunState::Uninterruptible && !SEES_INTERRUPT.contains(&i64::from(number)), ip)
            }
            // A stopped thread goes back to its stop, which interrupted no call.
            SyscallState::NotInCall { ip, .. } => (state == RunState::Stopped, ip),
            SyscallState::Running => return Rest::Asleep,
        };
        let Some(tid) = subject.thread().map(|thread| thread.tid) else { return Rest::Asleep };
        if !harmless {
            return Rest::Asleep;
        }
        let begun = Instant::now();
        let stopped = match self.tracer.interrupt(tid, STOP_BOUND) {
            Interrupt::Stopped(stopped) => stopped,
            Interrupt::Pending(stop) => return self.put_off(stop, Some((state, account)), subject),
            Interrupt::Gone | Interrupt::Refused => return Rest::Asleep,
        };
        let registers = stopped.registers().ok().filter(|registers| registers.ip == ip);
        let python = registers.map(|registers| self.copy(registers, subject));
        self.tracer.release(stopped);
        self.stopped_ns += Instant::now().ns_since(begun);
        let Some(python) = python else { return Rest::Asleep };
        if let SyscallState::InCall { .. } = syscall {
            subject.target.learn_frame_depth(&self.capture, &mut self.scratch);
        }
        match self.report(state, account, python, subject) {
            Verdict::WantsMoreStack if subject.thread().is_some_and(|thread| thread.copy_more_stack()) => {
                Rest::Unknown
            }
            _ => Rest::Asleep,
        }
    }
}

fn sleeping_in(number: u32, arguments: [u64; 6], subject: &Subject<'_>) -> RunState {
    let on_futex = i64::from(number) == libc::SYS_futex;
    match on_futex && subject.target.is_gil_wait(Avma(arguments[0])) {
        true => RunState::GilWait,
        false => RunState::Blocked(Syscall(number)),
    }
}

fn registers(syscall: &SyscallState) -> Registers {
    match *syscall {
        SyscallState::InCall { arguments, sp, ip, .. } => arch::registers_in_call(ip, sp, &arguments),
        SyscallState::NotInCall { sp, ip } => Registers::new(ip, sp),
        SyscallState::Running => Registers::new(Avma(0), Avma(0)),
    }
}

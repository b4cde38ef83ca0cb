//! Stopping one running thread for some microseconds, and nothing else that ptrace can do.
//!
//! ```text
//!   Tracer::interrupt(tid)            seize + interrupt, bounded wait
//!     ├─ Stopped(StoppedThread) ──► registers, copies ──► drop = detach, signals passed on
//!     ├─ Pending(PendingStop)   ──► the thread has no CPU; poll() again later
//!     ├─ Gone
//!     └─ Refused                ──► another tracer has it, or we may not
//! ```
//!
//! Nothing stays seized between two captures: no signal is delayed, a debugger can attach, and if the profiler is
//! killed at any instant the kernel detaches what it held (`kernel/ptrace.c`, `exit_ptrace`).
//!
//! **No EINTR.** A thread that was running when it was chosen may have gone to sleep before the interrupt reaches
//! it. Most system calls restart by themselves then; those listed in [`SEES_INTERRUPT`] would return `EINTR` to
//! the program. In the stop the result register still decides: `-ERESTARTNOHAND` in it makes the kernel restart
//! the call, or return `EINTR` if and only if a signal handler of the program's own is to run
//! (`arch/x86/kernel/signal.c`, `arch_do_signal_or_restart`), exactly as without us.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::ptrace;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use stackclock_unwinder::Registers;

use crate::SamplerError;
use crate::arch;
use crate::clock::Instant;

/// System calls in which a program sees `EINTR` when a tracer interrupts its sleep (measured, KERNEL.md).
pub const SEES_INTERRUPT: &[libc::c_long] = &[
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_io_getevents,
    libc::SYS_rt_sigtimedwait,
];

/// Stops threads of other processes, from one thread of ours.
#[derive(Debug)]
pub struct Tracer {
    child_signals: SignalFd,
    /// Threads that died in our hands and whose end only we can collect.
    dying: Vec<Pid>,
    /// Ends collected while waiting for stops.
    ended: Vec<WaitStatus>,
}

/// Keeps the calling thread, and those that it starts from now on, from taking SIGCHLD away from a tracer.
pub fn block_child_signal() -> Result<SigSet, SamplerError> {
    let mut child = SigSet::empty();
    child.add(Signal::SIGCHLD);
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&child), None)
        .map_err(SamplerError::system("blocking SIGCHLD"))?;
    Ok(child)
}

/// What became of an interrupt.
#[derive(Debug)]
pub enum Interrupt {
    /// The thread is stopped until this value is dropped.
    Stopped(StoppedThread),
    /// The thread did not get a CPU within the bound: it stops as soon as it does.
    Pending(PendingStop),
    /// The thread has ended.
    Gone,
    /// The kernel refused: another tracer has the thread.
    Refused,
}

/// A thread in a ptrace stop of ours; dropping it lets it run again.
#[derive(Debug)]
pub struct StoppedThread {
    tid: Pid,
    /// A signal that was about to be delivered: passed on when the thread is let go.
    signal: Option<Signal>,
}

/// A thread that will stop when it is next given a CPU.
#[derive(Debug)]
pub struct PendingStop {
    tid: Pid,
}

impl Tracer {
    /// A tracer for the calling thread, which alone may use it.
    ///
    /// Blocks SIGCHLD in the calling thread, so that waiting for a stop can have a bound. Threads started earlier
    /// should have it blocked too; otherwise one of them may swallow the signal and a wait lasts until its bound.
    pub fn new() -> Result<Self, SamplerError> {
        let child = block_child_signal()?;
        let child_signals = SignalFd::with_flags(&child, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(SamplerError::system("opening a signalfd"))?;
        Ok(Tracer { child_signals, dying: Vec::new(), ended: Vec::new() })
    }

    /// Asks a thread to stop and waits at most `bound` for it.
    pub fn interrupt(&mut self, tid: u32, bound: Duration) -> Interrupt {
        let tid = Pid::from_raw(tid as i32);
        match ptrace::seize(tid, ptrace::Options::empty()) {
            Ok(()) => {}
            Err(Errno::ESRCH) => return Interrupt::Gone,
            Err(_) => return Interrupt::Refused,
        }
        if ptrace::interrupt(tid).is_err() {
            self.dying.push(tid);
            return Interrupt::Gone;
        }
        let deadline = Instant::now().plus_ns(bound.as_nanos() as u64);
        let mut pending = PendingStop { tid };
        loop {
            match self.poll(pending) {
                Interrupt::Pending(still) => pending = still,
                done => return done,
            }
            let now = Instant::now();
            if now >= deadline {
                return Interrupt::Pending(pending);
            }
            self.wait_for_child_signal(Duration::from_nanos(deadline.ns_since(now)));
        }
    }

    /// Looks, without waiting, whether an interrupted thread has stopped by now.
    pub fn poll(&mut self, pending: PendingStop) -> Interrupt {
        let tid = pending.tid;
        let flags = WaitPidFlag::__WALL | WaitPidFlag::WNOHANG;
        match waitpid(tid, Some(flags)) {
            Ok(WaitStatus::StillAlive) => Interrupt::Pending(pending),
            // Our own stop, or a stop of the whole group by a signal that stays in force without us.
            Ok(WaitStatus::PtraceEvent(..)) => Interrupt::Stopped(StoppedThread { tid, signal: None }),
            Ok(WaitStatus::Stopped(_, signal)) => {
                Interrupt::Stopped(StoppedThread { tid, signal: Some(signal) })
            }
            Ok(ended @ (WaitStatus::Exited(..) | WaitStatus::Signaled(..))) => {
                self.ended.push(ended);
                Interrupt::Gone
            }
            Ok(_) => Interrupt::Pending(pending),
            Err(_) => Interrupt::Gone,
        }
    }

    /// Sleeps until a tracee or child changes state, a signal arrives, or `bound` has passed.
    pub fn wait_for_child_signal(&self, bound: Duration) {
        let mut fds = [PollFd::new(self.child_signals.as_fd(), PollFlags::POLLIN)];
        // ppoll, since poll counts in milliseconds.
        if let Ok(ready) = ppoll(&mut fds, Some(TimeSpec::from_duration(bound)), None)
            && ready > 0
        {
            // However many stops there were, one signal is pending.
            let _ = self.child_signals.read_signal();
        }
    }

    /// Lets a stopped thread run again and reports when that failed because it died.
    pub fn release(&mut self, thread: StoppedThread) {
        let tid = thread.tid;
        if thread.detach() == Err(Errno::ESRCH) {
            self.dying.push(tid);
        }
    }

    /// Collects threads that died in our hands, so that their parents learn of it.
    pub fn collect_dead(&mut self) {
        let ended = &mut self.ended;
        self.dying.retain(|&tid| match waitpid(tid, Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG)) {
            Ok(status @ (WaitStatus::Exited(..) | WaitStatus::Signaled(..))) => {
                ended.push(status);
                false
            }
            Ok(WaitStatus::StillAlive) => true,
            // Another stop on its way out: let it go on dying.
            Ok(_) => ptrace::detach(tid, None).is_err(),
            Err(_) => false,
        });
    }

    /// The end of the child `pid`, if it has ended; collected here or earlier while waiting for a stop.
    pub fn child_status(&mut self, pid: Pid) -> Option<WaitStatus> {
        if let Some(known) = self.ended.iter().find(|status| status.pid() == Some(pid)) {
            return Some(*known);
        }
        match waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
            Ok(status @ (WaitStatus::Exited(..) | WaitStatus::Signaled(..))) => {
                self.ended.push(status);
                Some(status)
            }
            _ => None,
        }
    }
}

impl StoppedThread {
    /// The general registers, all known.
    ///
    /// Also undoes what the stop did to a call that a program would see interrupted (module docs).
    pub fn registers(&self) -> nix::Result<Registers> {
        let raw = ptrace::getregs(self.tid)?;
        if let Some(restarting) = arch::restart_instead_of_eintr(&raw, SEES_INTERRUPT) {
            ptrace::setregs(self.tid, restarting)?;
        }
        Ok(arch::registers_at_stop(&raw))
    }

    fn detach(self) -> nix::Result<()> {
        let result = ptrace::detach(self.tid, self.signal);
        std::mem::forget(self);
        result
    }
}

impl Drop for StoppedThread {
    fn drop(&mut self) {
        // Only reached when a capture is abandoned halfway; a thread that died meanwhile needs no detach.
        let _ = ptrace::detach(self.tid, self.signal);
    }
}

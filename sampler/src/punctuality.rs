//! Waking up on time on a machine whose CPUs are busy.
//!
//! A late tick loses no time. But when ticks come as the target leaves its CPU, rather than when they are due, they see
//! too little of it running. So the sampling thread asks the scheduler to be woken at once; it takes no more CPU time
//! than it did, only sooner. With three busy loops and two busy targets on two CPUs, 25 to 35 % of the ticks at 100 Hz
//! were late or missed without this, and less than 1 % with it.

use std::mem::{MaybeUninit, size_of};

/// The lowest real-time priority: before every ordinary thread, behind everything that is really real-time.
const PRIORITY: u32 = 1;
/// The shortest slice that the scheduler accepts, ns (`kernel/sched/syscalls.c`, `__setparam_fair`, Linux 6.12).
const SHORTEST_SLICE_NS: u64 = 100_000;
/// Slack of the calling thread's timers, ns; otherwise the kernel may wake it 50 us late (`prctl(2)`).
const TIMER_SLACK_NS: u64 = 1;

/// The calling thread wakes up as punctually as it may, until this is dropped.
#[derive(Debug)]
pub struct Punctual {
    before: Option<libc::sched_attr>,
}

impl Punctual {
    /// Asks for real-time scheduling (CAP_SYS_NICE or RLIMIT_RTPRIO), else for short slices, for which no privilege
    /// is needed. Kernels that know neither leave us as punctual as others.
    pub fn begin() -> Self {
        let _ = nix::sys::prctl::set_timerslack(TIMER_SLACK_NS);
        // Who was given another policy on purpose keeps it.
        let before = scheduling().filter(|now| now.sched_policy == libc::SCHED_OTHER as u32);
        if let Some(ordinary) = before {
            let real_time = libc::sched_attr {
                sched_policy: libc::SCHED_FIFO as u32,
                sched_priority: PRIORITY,
                sched_nice: 0,
                sched_runtime: 0,
                ..ordinary
            };
            // A waking task with a shorter slice than the running one's preempts it (`kernel/sched/features.h`,
            // PREEMPT_SHORT).
            let short_slices = libc::sched_attr { sched_runtime: SHORTEST_SLICE_NS, ..ordinary };
            let _ = schedule(&real_time) || schedule(&short_slices);
        }
        Punctual { before }
    }
}

impl Drop for Punctual {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            schedule(before);
        }
    }
}

const THIS_THREAD: libc::pid_t = 0;
const NO_FLAGS: libc::c_uint = 0;

/// How the calling thread is scheduled.
fn scheduling() -> Option<libc::sched_attr> {
    let size = size_of::<libc::sched_attr>() as libc::c_uint;
    let mut attributes = MaybeUninit::<libc::sched_attr>::zeroed();
    // SAFETY: the kernel writes at most `size` bytes to a struct of that size.
    let read = unsafe {
        libc::syscall(libc::SYS_sched_getattr, THIS_THREAD, attributes.as_mut_ptr(), size, NO_FLAGS)
    };
    // SAFETY: the struct consists of integers, for which the initial zeroes are values too.
    (read == 0).then(|| unsafe { attributes.assume_init() })
}

/// Whether the calling thread is scheduled like this from now on.
fn schedule(attributes: &libc::sched_attr) -> bool {
    // SAFETY: the kernel reads `attributes.size` bytes, which is what it said the struct has.
    unsafe {
        libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, std::ptr::from_ref(attributes), NO_FLAGS) == 0
    }
}

//! Time by what the threads were doing.

use std::ops::AddAssign;

use serde::Serialize;

use crate::RunState;

/// Time split by state, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Split {
    /// On a CPU.
    pub running_ns: u64,
    /// Waiting for a CPU.
    pub runnable_ns: u64,
    /// Waiting for the GIL.
    pub gil_ns: u64,
    /// Everything else off the CPU: blocked in a call, in uninterruptible sleep, stopped.
    pub blocked_ns: u64,
}

impl Split {
    /// `weight_ns` of time in one state.
    pub fn of(state: RunState, weight_ns: u64) -> Self {
        let mut split = Split::default();
        match state {
            RunState::Running => split.running_ns = weight_ns,
            RunState::Runnable => split.runnable_ns = weight_ns,
            RunState::GilWait => split.gil_ns = weight_ns,
            RunState::Blocked(_) | RunState::Uninterruptible | RunState::Stopped => {
                split.blocked_ns = weight_ns
            }
        }
        split
    }

    /// All of it, ns.
    pub fn sum_ns(&self) -> u64 {
        self.running_ns + self.runnable_ns + self.gil_ns + self.blocked_ns
    }
}

impl AddAssign for Split {
    fn add_assign(&mut self, other: Self) {
        self.running_ns += other.running_ns;
        self.runnable_ns += other.runnable_ns;
        self.gil_ns += other.gil_ns;
        self.blocked_ns += other.blocked_ns;
    }
}

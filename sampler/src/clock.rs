//! The one clock of a recording.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC: the clock that schedstat's waiting times and perf's timestamps advance with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Instant(pub u64);

impl Instant {
    /// The present.
    pub fn now() -> Self {
        // CLOCK_MONOTONIC exists on every Linux, so the call cannot fail; were it to, time would stand still.
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default();
        Instant(now.as_nanos() as u64)
    }

    /// Nanoseconds since `earlier`; zero when that lies ahead.
    pub fn ns_since(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `ns` later.
    pub fn plus_ns(self, ns: u64) -> Instant {
        Instant(self.0.saturating_add(ns))
    }
}

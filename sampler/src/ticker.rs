//! When ticks come: at randomised gaps, so that they cannot lock onto a periodic workload.
//!
//! ```text
//!   deadline   |----gap----|------gap------|--gap--|           gap = interval * (0.5 .. 1.5)
//!   tick       *            *              *           *
//!   late                    ^ began after its time      ^
//! ```
//!
//! A late tick loses nothing, since weights are times; but it is counted. A tick that is so late that the next
//! ones would have begun already swallows them: they are counted as missed.

use std::time::Duration;

use crate::clock::Instant;

/// A tick that begins this much of an interval after its deadline is late.
const LATE_SHARE: u64 = 10;
/// Waking up takes some time even on an idle machine; below this a tick is never late.
const LATE_AT_LEAST_NS: u64 = 200_000;

/// The schedule of ticks.
#[derive(Debug)]
pub struct Ticker {
    interval_ns: u64,
    deadline: Instant,
    random: fastrand::Rng,
    /// Ticks that began late.
    pub late: u64,
    /// Ticks that were swallowed by a late one.
    pub missed: u64,
}

impl Ticker {
    /// A schedule that begins with a tick at `start`.
    pub fn new(interval: Duration, start: Instant) -> Self {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        Ticker { interval_ns, deadline: start, random: fastrand::Rng::new(), late: 0, missed: 0 }
    }

    /// When the next tick is due.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Says that the tick due began `now`, and sets the next deadline.
    pub fn began(&mut self, now: Instant) {
        let behind_ns = now.ns_since(self.deadline);
        if behind_ns > (self.interval_ns / LATE_SHARE).max(LATE_AT_LEAST_NS) {
            self.late += 1;
        }
        self.missed += behind_ns / self.interval_ns;
        let half = self.interval_ns / 2;
        let gap_ns = half + self.random.u64(0..=self.interval_ns);
        let on_schedule = self.deadline.plus_ns(gap_ns);
        self.deadline = if behind_ns < self.interval_ns { on_schedule } else { now.plus_ns(gap_ns) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn gaps_vary_around_the_interval() {
        let mut ticker = Ticker::new(Duration::from_millis(10), Instant(0));
        let mut gaps = Vec::new();
        for _ in 0..1000 {
            let due = ticker.deadline();
            ticker.began(due);
            gaps.push(ticker.deadline().ns_since(due));
        }
        assert!(gaps.iter().all(|gap| (5 * MS..=15 * MS).contains(gap)));
        let mean = gaps.iter().sum::<u64>() / 1000;
        assert!((9 * MS..11 * MS).contains(&mean), "mean gap {mean} ns");
        assert_eq!((ticker.late, ticker.missed), (0, 0));
    }

    #[test]
    fn a_very_late_tick_swallows_those_behind_it() {
        let mut ticker = Ticker::new(Duration::from_millis(10), Instant(0));
        ticker.began(Instant(35 * MS));
        assert_eq!((ticker.late, ticker.missed), (1, 3));
        assert!(ticker.deadline() >= Instant(40 * MS));
    }
}

//! Whether a recording can be trusted, in warnings that say what to change.

use std::fmt;

use stackclock_collapse::Profile;

use crate::figures::percent;

/// Something about a recording that its reader should know. Percentages are rounded where they are printed.
#[derive(Clone, Debug, PartialEq)]
pub enum QualityWarning {
    /// Ticks began late or were left out: the machine or we were too slow for the rate.
    Late {
        /// Late and missed ticks of those due.
        percent: f64,
    },
    /// Samples were dropped after capture.
    Lost {
        /// How many.
        samples: u64,
    },
    /// Threads could not be read.
    Failed {
        /// Failed samples of all.
        percent: f64,
    },
    /// Stacks whose root was not reached.
    Truncated {
        /// Truncated stacks of all samples.
        percent: f64,
    },
    /// Too few for small shares to mean anything.
    FewSamples {
        /// How many there are.
        samples: u64,
    },
    /// Stopping threads took a noticeable part of the targets' time.
    TargetStopped {
        /// Time stopped, summed over threads, of the recording.
        percent: f64,
    },
}

/// Weights are time, so a late tick loses nothing but detail; many of them mean that the rate is fiction.
const LATE_PERCENT: f64 = 5.0;
/// A share of this size that is missing or broken could hide a function that matters.
const BROKEN_PERCENT: f64 = 1.0;
/// With n samples a share p has a standard error of sqrt(p(1-p)/n): 5 percentage points for p = 1/2, n = 100.
const FEW_SAMPLES: u64 = 100;
/// What users have told other profilers that they notice.
const STOPPED_PERCENT: f64 = 2.0;

/// The warnings about a recording; `shown` is the number of samples that were written.
pub fn warnings(profile: &Profile, shown: u64) -> Vec<QualityWarning> {
    let counters = &profile.counters;
    let sum = |reasons: &[(String, u64)]| reasons.iter().map(|(_, count)| *count).sum::<u64>() as f64;
    let observed: u64 = profile.samples.iter().map(|sample| u64::from(sample.observations)).sum();
    let failed = sum(&counters.failed);
    let late = percent((counters.late + counters.missed) as f64, (counters.ticks + counters.missed) as f64);
    let failed = percent(failed, failed + observed as f64);
    let truncated = percent(sum(&counters.truncated), observed as f64);
    let stopped = percent(counters.stopped_ns as f64, profile.recorded.duration_ns as f64);
    [
        (late > LATE_PERCENT).then_some(QualityWarning::Late { percent: late }),
        (counters.lost > 0).then_some(QualityWarning::Lost { samples: counters.lost }),
        (failed > BROKEN_PERCENT).then_some(QualityWarning::Failed { percent: failed }),
        (truncated > BROKEN_PERCENT).then_some(QualityWarning::Truncated { percent: truncated }),
        (shown > 0 && shown < FEW_SAMPLES).then_some(QualityWarning::FewSamples { samples: shown }),
        (stopped > STOPPED_PERCENT).then_some(QualityWarning::TargetStopped { percent: stopped }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl fmt::Display for QualityWarning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QualityWarning::Late { percent } => {
                write!(out, "{percent:.1}% of the ticks were late or missed; try a lower --rate")
            }
            QualityWarning::Lost { samples } => {
                write!(out, "{samples} samples were lost after capture; try a lower --rate")
            }
            QualityWarning::Failed { percent } => {
                write!(out, "{percent:.1}% of the samples could not be read; the reasons are above")
            }
            QualityWarning::Truncated { percent } => write!(
                out,
                "{percent:.1}% of the stacks do not reach the thread's root; the reasons are above"
            ),
            QualityWarning::FewSamples { samples } => {
                write!(out, "only {samples} samples: small shares mean little; try a longer --duration")
            }
            QualityWarning::TargetStopped { percent } => {
                write!(out, "threads were stopped for {percent:.1}% of the time; try a lower --rate")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use stackclock_collapse::{Counters, Recorded, RunState, Sample, StackId, ThreadId};

    use super::*;

    fn profile(observations: u32, counters: Counters) -> Profile {
        let sample = Sample {
            thread: ThreadId(0),
            at_ns: 0,
            weight_ns: 1_000_000_000,
            observations,
            state: RunState::Running,
            stack: StackId::EMPTY,
            holds_gil: false,
        };
        let recorded = Recorded { duration_ns: 1_000_000_000, ..Recorded::default() };
        Profile { recorded, samples: vec![sample], counters, ..Profile::default() }
    }

    #[test]
    fn a_good_recording_has_no_warnings() {
        let counters = Counters { ticks: 1000, late: 50, stopped_ns: 20_000_000, ..Counters::default() };
        assert_eq!(warnings(&profile(1000, counters), 1000), []);
    }

    #[test]
    fn each_trouble_has_its_warning() {
        let counters = Counters {
            ticks: 900,
            late: 100,
            missed: 100,
            incomplete: vec![("Python frames were changing".to_owned(), 2)],
            truncated: vec![("no unwind information".to_owned(), 20), ("unreadable".to_owned(), 5)],
            failed: vec![("process_vm_readv".to_owned(), 1000)],
            lost: 1,
            skipped: 0,
            stopped_ns: 30_000_000,
        };
        assert_eq!(
            warnings(&profile(1000, counters), 99),
            [
                QualityWarning::Late { percent: 20.0 },
                QualityWarning::Lost { samples: 1 },
                QualityWarning::Failed { percent: 50.0 },
                QualityWarning::Truncated { percent: 2.5 },
                QualityWarning::FewSamples { samples: 99 },
                QualityWarning::TargetStopped { percent: 3.0 },
            ]
        );
    }
}

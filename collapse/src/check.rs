//! The promise of a recorded profile: no time is lost, none is counted twice.

use thiserror::Error;

use crate::{Profile, Thread};

/// What is wrong with a profile.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Inconsistency {
    /// A thread names a process that does not exist.
    #[error("thread {tid} belongs to process number {process}, which does not exist")]
    UnknownProcess {
        /// The thread.
        tid: u32,
        /// The number that no process has.
        process: u32,
    },
    /// A sample names a thread that does not exist.
    #[error("sample number {sample} belongs to thread number {thread}, which does not exist")]
    UnknownThread {
        /// Place in [`Profile::samples`].
        sample: usize,
        /// The number that no thread has.
        thread: u32,
    },
    /// A sample names a stack that does not exist.
    #[error("sample number {sample} has stack number {stack}, which does not exist")]
    UnknownStack {
        /// Place in [`Profile::samples`].
        sample: usize,
        /// The number that no stack has.
        stack: usize,
    },
    /// A sample does not begin where the one before it ended, or the first one not where its thread did.
    #[error("a sample of thread {tid} begins at {at_ns} ns, but the time before it ends at {expected_ns} ns")]
    Misplaced {
        /// The thread.
        tid: u32,
        /// Where the sample begins.
        at_ns: u64,
        /// Where it should.
        expected_ns: u64,
    },
    /// The samples of a thread do not reach its end, or pass it.
    #[error("the samples of thread {tid} end at {accounted_ns} ns, but it lived until {end_ns} ns")]
    Unaccounted {
        /// The thread.
        tid: u32,
        /// Where its last sample ends.
        accounted_ns: u64,
        /// Where the thread ended.
        end_ns: u64,
    },
}

impl Profile {
    /// Checks that all ids exist and that each thread's samples cover its life from `start_ns` to `end_ns` without
    /// gap or overlap, so that their weights add up to it.
    pub fn check(&self) -> Result<(), Inconsistency> {
        self.check_ids()?;
        let mut accounted: Vec<u64> = self.threads.iter().map(|thread| thread.start_ns).collect();
        for sample in &self.samples {
            let expected_ns = &mut accounted[sample.thread.0 as usize];
            if sample.at_ns != *expected_ns {
                let tid = self.thread(sample.thread).tid;
                return Err(Inconsistency::Misplaced { tid, at_ns: sample.at_ns, expected_ns: *expected_ns });
            }
            *expected_ns = sample.at_ns.saturating_add(sample.weight_ns);
        }
        for (&Thread { tid, end_ns, .. }, accounted_ns) in self.threads.iter().zip(accounted) {
            if accounted_ns != end_ns {
                return Err(Inconsistency::Unaccounted { tid, accounted_ns, end_ns });
            }
        }
        Ok(())
    }

    fn check_ids(&self) -> Result<(), Inconsistency> {
        for &Thread { tid, process, .. } in &self.threads {
            if process.0 as usize >= self.processes.len() {
                return Err(Inconsistency::UnknownProcess { tid, process: process.0 });
            }
        }
        for (at, sample) in self.samples.iter().enumerate() {
            if sample.thread.0 as usize >= self.threads.len() {
                return Err(Inconsistency::UnknownThread { sample: at, thread: sample.thread.0 });
            }
            if sample.stack.index() >= self.stacks.len() {
                return Err(Inconsistency::UnknownStack { sample: at, stack: sample.stack.index() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Process, RunState, Sample, StackId, ThreadId, ThreadTotals};

    fn profile(end_ns: u64, stretches: &[(u64, u64)]) -> Profile {
        let totals = ThreadTotals::default();
        let thread =
            Thread { process: crate::ProcessId(0), tid: 7, name: String::new(), start_ns: 5, end_ns, totals };
        let sample = |&(at_ns, weight_ns): &(u64, u64)| Sample {
            thread: ThreadId(0),
            at_ns,
            weight_ns,
            observations: 1,
            state: RunState::Running,
            stack: StackId::EMPTY,
            holds_gil: false,
        };
        Profile {
            processes: vec![Process::default()],
            threads: vec![thread],
            samples: stretches.iter().map(sample).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn gaps_overlaps_and_missing_ends_are_found() {
        assert_eq!(profile(9, &[(5, 1), (6, 3)]).check(), Ok(()));
        let misplaced = |at_ns, expected_ns| Err(Inconsistency::Misplaced { tid: 7, at_ns, expected_ns });
        assert_eq!(profile(9, &[(5, 1), (7, 2)]).check(), misplaced(7, 6));
        assert_eq!(profile(9, &[(5, 3), (7, 2)]).check(), misplaced(7, 8));
        assert_eq!(profile(9, &[(4, 5)]).check(), misplaced(4, 5));
        let short = Err(Inconsistency::Unaccounted { tid: 7, accounted_ns: 8, end_ns: 9 });
        assert_eq!(profile(9, &[(5, 3)]).check(), short);
        let mut homeless = profile(9, &[(5, 4)]);
        homeless.processes.clear();
        assert_eq!(homeless.check(), Err(Inconsistency::UnknownProcess { tid: 7, process: 0 }));
    }
}

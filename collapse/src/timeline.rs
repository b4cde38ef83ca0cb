//! From observations to samples: the rule that makes wall time add up.
//!
//! A thread's time from one observation to the next belongs to what the first of them saw; equal observations
//! that follow each other make one sample:
//!
//! ```text
//!   observed      A        A   B            A        (end)
//!   time     ─────┼────────┼───┼────────────┼──────────┤
//!   samples  start├─── A ──────┤──── B ─────┤─── A ────┤end      weights: end - start, nothing lost or twice
//! ```

use crate::{Process, ProcessId, Profile, RunState, Sample, StackId, Thread, ThreadId, ThreadTotals};

/// What one observation of a thread saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// What the thread was doing.
    pub state: RunState,
    /// Its stack, an id of whatever table the caller keeps until [`Timeline::finish`].
    pub stack: StackId,
    /// Whether it held its interpreter's GIL.
    pub holds_gil: bool,
}

/// Collects the observations of a recording. Times are ns since the recording began.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    processes: Vec<Process>,
    threads: Vec<Thread>,
    /// The last sample of each thread, still growing; `None`: the thread has ended.
    growing: Vec<Option<Sample>>,
    grown: Vec<Sample>,
}

impl Timeline {
    /// A new target.
    pub fn add_process(&mut self, process: Process) -> ProcessId {
        self.processes.push(process);
        ProcessId(self.processes.len() as u32 - 1)
    }

    /// A new thread of a target, at its first observation: a thread that was never observed has no time.
    pub fn add_thread(
        &mut self,
        process: ProcessId,
        tid: u32,
        name: String,
        at_ns: u64,
        seen: Seen,
    ) -> ThreadId {
        let thread = ThreadId(self.threads.len() as u32);
        let totals = ThreadTotals::default();
        self.threads.push(Thread { process, tid, name, start_ns: at_ns, end_ns: at_ns, totals });
        self.growing.push(Some(begin(thread, at_ns, seen)));
        thread
    }

    /// A process of this timeline, to correct its name when an `exec` changes it.
    pub fn process_mut(&mut self, process: ProcessId) -> Option<&mut Process> {
        self.processes.get_mut(process.0 as usize)
    }

    /// A thread of this timeline, to correct its name or to fill in its totals.
    pub fn thread_mut(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        self.threads.get_mut(thread.0 as usize)
    }

    /// What was seen of a thread at `at_ns`. An observation from before the last one is taken as made together
    /// with it; one of a thread that has ended is ignored.
    pub fn observe(&mut self, thread: ThreadId, at_ns: u64, seen: Seen) {
        let Some(Some(sample)) = self.growing.get_mut(thread.0 as usize) else { return };
        if (seen.state, seen.stack, seen.holds_gil) == (sample.state, sample.stack, sample.holds_gil) {
            sample.observations = sample.observations.saturating_add(1);
            return;
        }
        let at_ns = at_ns.max(sample.at_ns);
        let finished = std::mem::replace(sample, begin(thread, at_ns, seen));
        self.keep(finished, at_ns);
    }

    /// The thread was seen not to have run since its last observation, which so still holds.
    pub fn observe_same(&mut self, thread: ThreadId) {
        if let Some(Some(sample)) = self.growing.get_mut(thread.0 as usize) {
            sample.observations = sample.observations.saturating_add(1);
        }
    }

    /// The thread was found gone at `at_ns`.
    pub fn end_thread(&mut self, thread: ThreadId, at_ns: u64) {
        let Some(last) = self.growing.get_mut(thread.0 as usize).and_then(Option::take) else { return };
        let end_ns = at_ns.max(last.at_ns);
        self.threads[thread.0 as usize].end_ns = end_ns;
        self.keep(last, end_ns);
    }

    /// Ends all threads at `end_ns` and gives every stack its final form: `symbolize` is called once for each
    /// stack seen, interns its frames into the profile and says the id it has there. Samples are in order of
    /// thread and time. What is known of the recording as a whole is left for the caller to fill in.
    pub fn finish(
        mut self,
        end_ns: u64,
        mut symbolize: impl FnMut(&mut Profile, StackId) -> StackId,
    ) -> Profile {
        for thread in 0..self.threads.len() {
            self.end_thread(ThreadId(thread as u32), end_ns);
        }
        let mut samples = self.grown;
        samples.sort_by_key(|sample| (sample.thread, sample.at_ns));
        let mut profile = Profile { processes: self.processes, threads: self.threads, ..Profile::default() };
        let mut symbolized = rustc_hash::FxHashMap::default();
        for sample in &mut samples {
            let raw = sample.stack;
            sample.stack = *symbolized.entry(raw).or_insert_with(|| symbolize(&mut profile, raw));
        }
        profile.samples = samples;
        profile
    }

    /// Keeps a sample that ends at `end_ns`; one that lasted no time says nothing.
    fn keep(&mut self, mut sample: Sample, end_ns: u64) {
        sample.weight_ns = end_ns.saturating_sub(sample.at_ns);
        if sample.weight_ns > 0 {
            self.grown.push(sample);
        }
    }
}

fn begin(thread: ThreadId, at_ns: u64, seen: Seen) -> Sample {
    let Seen { state, stack, holds_gil } = seen;
    Sample { thread, at_ns, weight_ns: 0, observations: 1, state, stack, holds_gil }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, FrameId};

    fn seen(state: RunState, stack: StackId) -> Seen {
        Seen { state, stack, holds_gil: false }
    }

    #[test]
    fn time_is_conserved_whatever_is_observed() {
        let mut raw = crate::StackTable::default();
        let stacks: Vec<StackId> = (0..3).map(|n| raw.push(StackId::EMPTY, FrameId(n))).collect();
        let states = [RunState::Running, RunState::Runnable, RunState::GilWait];
        let mut timeline = Timeline::default();
        let process = timeline.add_process(Process::default());
        let mut random = 12345_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let threads: Vec<ThreadId> = (0..5)
            .map(|n| {
                timeline.add_thread(process, n, String::new(), u64::from(n) * 100, seen(states[0], stacks[0]))
            })
            .collect();
        for at in 0..2000_u64 {
            let thread = threads[next(5) as usize];
            match next(10) {
                0 => timeline.observe_same(thread),
                1 if at > 1900 => timeline.end_thread(thread, at * 10),
                // Timestamps that jitter backwards.
                _ => {
                    let what = seen(states[next(3) as usize], stacks[next(3) as usize]);
                    timeline.observe(thread, (at * 10).saturating_sub(next(40)), what);
                }
            }
        }
        let profile = timeline.finish(20_000, |profile, raw| {
            let frame = profile.frames.intern(Frame::from_text(&format!("f{}", raw.index())));
            profile.stacks.push(StackId::EMPTY, frame)
        });
        assert_eq!(profile.check(), Ok(()));
        let weights: u64 = profile.samples.iter().map(|sample| sample.weight_ns).sum();
        let lives: u64 = profile.threads.iter().map(|thread| thread.end_ns - thread.start_ns).sum();
        assert_eq!(weights, lives);
    }

    #[test]
    fn equal_observations_are_one_sample() {
        let mut timeline = Timeline::default();
        let process = timeline.add_process(Process::default());
        let running = seen(RunState::Running, StackId::EMPTY);
        let thread = timeline.add_thread(process, 1, String::new(), 10, running);
        timeline.observe(thread, 20, running);
        timeline.observe_same(thread);
        timeline.observe(thread, 40, seen(RunState::GilWait, StackId::EMPTY));
        let profile = timeline.finish(45, |_, raw| raw);
        let seen: Vec<_> = profile.samples.iter().map(|s| (s.at_ns, s.weight_ns, s.observations)).collect();
        assert_eq!(seen, [(10, 30, 3), (40, 5, 1)]);
    }
}

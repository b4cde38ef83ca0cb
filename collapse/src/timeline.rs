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
//!
//! Being looked at may itself cost a thread its CPU, so that it runs at a tick and waits right after it, tick for tick.
//! Therefore ticks only find out whether a thread is awake, and with which stack; how its time awake is divided between
//! `Running` and `Runnable` is the scheduler's own count ([`AwakeTime`]), where the observer knows it. Sample by sample
//! the division follows that count so far, of all of the thread's time:
//!
//! ```text
//!   Runnable so far, this sample included     counted waiting so far
//!   ───────────────────────────────────── = ──────────────────────────
//!              awake so far                  counted awake so far
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

/// How a thread's time awake between two observations was divided, by the scheduler's own count, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AwakeTime {
    /// On a CPU.
    pub cpu_ns: u64,
    /// Waiting for one.
    pub wait_ns: u64,
}

/// Collects the observations of a recording. Times are ns since the recording began.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    processes: Vec<Process>,
    threads: Vec<Thread>,
    /// The last sample of each thread, still growing; `None`: the thread has ended.
    growing: Vec<Option<Sample>>,
    divisions: Vec<Division>,
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
        self.divisions.push(Division::default());
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

    /// What was seen of a thread at `at_ns`, and how its time since the last observation was divided if it was awake,
    /// where that is known. An observation from before the last one is taken as made together with it; one of a thread
    /// that has ended is ignored.
    pub fn observe(&mut self, thread: ThreadId, at_ns: u64, seen: Seen, awake: Option<AwakeTime>) {
        let Some(Some(sample)) = self.growing.get_mut(thread.0 as usize) else { return };
        let divided = awake.is_some() && sample.state.is_on_cpu_or_wants_it();
        let same = (seen.state, seen.stack, seen.holds_gil) == (sample.state, sample.stack, sample.holds_gil);
        if same && !divided {
            sample.observations = sample.observations.saturating_add(1);
            return;
        }
        let at_ns = at_ns.max(sample.at_ns);
        let finished = std::mem::replace(sample, begin(thread, at_ns, seen));
        self.keep(finished, at_ns, awake);
    }

    /// The thread was seen not to have run since its last observation, which so still holds.
    pub fn observe_same(&mut self, thread: ThreadId) {
        if let Some(Some(sample)) = self.growing.get_mut(thread.0 as usize) {
            sample.observations = sample.observations.saturating_add(1);
        }
    }

    /// The thread was found gone, or the recording was over, at `at_ns`; `awake` as for [`observe`](Self::observe).
    pub fn end_thread(&mut self, thread: ThreadId, at_ns: u64, awake: Option<AwakeTime>) {
        let Some(last) = self.growing.get_mut(thread.0 as usize).and_then(Option::take) else { return };
        let end_ns = at_ns.max(last.at_ns);
        self.threads[thread.0 as usize].end_ns = end_ns;
        self.keep(last, end_ns, awake);
    }

    /// What is known up to `at_ns` and has not been handed over yet: the samples, and all threads with what they lived
    /// since `from_ns`. The threads go on. Time awake is kept back until it is known how it is divided, for which the
    /// thread has to be observed once more.
    pub fn cut(&mut self, from_ns: u64, at_ns: u64) -> (Vec<Thread>, Vec<Sample>) {
        let mut threads = self.threads.clone();
        for (at, thread) in threads.iter_mut().enumerate() {
            if let Some(Some(sample)) = self.growing.get(at).copied() {
                thread.end_ns = at_ns.max(thread.start_ns);
                if !sample.state.is_on_cpu_or_wants_it() && sample.at_ns < at_ns {
                    self.growing[at] = Some(Sample { at_ns, observations: 0, ..sample });
                    self.keep(sample, at_ns, None);
                }
            }
            thread.start_ns = thread.start_ns.max(from_ns).min(thread.end_ns);
        }
        (threads, std::mem::take(&mut self.grown))
    }

    /// All processes.
    pub fn processes(&self) -> &[Process] {
        &self.processes
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
            self.end_thread(ThreadId(thread as u32), end_ns, None);
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
    fn keep(&mut self, mut sample: Sample, end_ns: u64, awake: Option<AwakeTime>) {
        sample.weight_ns = end_ns.saturating_sub(sample.at_ns);
        let division = self.divisions.get_mut(sample.thread.0 as usize);
        let parts = match awake.zip(division) {
            Some((awake, division)) => division.divide(sample, awake),
            None => [sample, Sample { weight_ns: 0, ..sample }],
        };
        self.grown.extend(parts.into_iter().filter(|part| part.weight_ns > 0));
    }
}

/// How the time awake of one thread has been divided so far, ns (module docs).
#[derive(Clone, Copy, Debug, Default)]
struct Division {
    counted_cpu_ns: u64,
    counted_wait_ns: u64,
    running_ns: u64,
    runnable_ns: u64,
}

impl Division {
    /// The part of a sample in the state that was seen, then the part in the other state of being awake.
    fn divide(&mut self, sample: Sample, awake: AwakeTime) -> [Sample; 2] {
        self.counted_cpu_ns = self.counted_cpu_ns.saturating_add(awake.cpu_ns);
        self.counted_wait_ns = self.counted_wait_ns.saturating_add(awake.wait_ns);
        let counted_ns = u128::from(self.counted_cpu_ns) + u128::from(self.counted_wait_ns);
        let other = match sample.state {
            RunState::Running => RunState::Runnable,
            RunState::Runnable => RunState::Running,
            _ => return [sample, Sample { weight_ns: 0, ..sample }],
        };
        let awake_ns =
            u128::from(self.running_ns) + u128::from(self.runnable_ns) + u128::from(sample.weight_ns);
        let runnable_ns = match (counted_ns, sample.state) {
            (0, RunState::Running) => 0,
            (0, _) => sample.weight_ns,
            _ => {
                let due_ns = awake_ns * u128::from(self.counted_wait_ns) / counted_ns;
                due_ns.saturating_sub(self.runnable_ns.into()).min(sample.weight_ns.into()) as u64
            }
        };
        let running_ns = sample.weight_ns - runnable_ns;
        self.running_ns += running_ns;
        self.runnable_ns += runnable_ns;
        let seen_ns = if sample.state == RunState::Running { running_ns } else { runnable_ns };
        // The observation counts once, with the state that was seen if any time is left of it.
        let (observations, others) =
            if seen_ns > 0 { (sample.observations, 0) } else { (0, sample.observations) };
        let (at_ns, rest_ns) = (sample.at_ns + seen_ns, sample.weight_ns - seen_ns);
        [
            Sample { weight_ns: seen_ns, observations, ..sample },
            Sample { at_ns, weight_ns: rest_ns, state: other, observations: others, ..sample },
        ]
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
                1 if at > 1900 => timeline.end_thread(thread, at * 10, None),
                // Timestamps that jitter backwards.
                _ => {
                    let what = seen(states[next(3) as usize], stacks[next(3) as usize]);
                    let awake = AwakeTime { cpu_ns: next(3), wait_ns: next(3) };
                    let awake = (next(2) == 0).then_some(awake);
                    timeline.observe(thread, (at * 10).saturating_sub(next(40)), what, awake);
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
        timeline.observe(thread, 20, running, None);
        timeline.observe_same(thread);
        timeline.observe(thread, 40, seen(RunState::GilWait, StackId::EMPTY), None);
        let profile = timeline.finish(45, |_, raw| raw);
        let seen: Vec<_> = profile.samples.iter().map(|s| (s.at_ns, s.weight_ns, s.observations)).collect();
        assert_eq!(seen, [(10, 30, 3), (40, 5, 1)]);
    }

    #[test]
    fn what_is_handed_over_early_adds_up_to_the_same() {
        let mut timeline = Timeline::default();
        let process = timeline.add_process(Process::default());
        let asleep = seen(RunState::GilWait, StackId::EMPTY);
        let sleeper = timeline.add_thread(process, 1, String::new(), 10, asleep);
        let runner =
            timeline.add_thread(process, 2, String::new(), 20, seen(RunState::Running, StackId::EMPTY));
        timeline.observe_same(sleeper);
        let (threads, first) = timeline.cut(0, 100);
        let lives = |threads: &[Thread]| threads.iter().map(|t| (t.start_ns, t.end_ns)).collect::<Vec<_>>();
        let stretches = |samples: &[Sample]| {
            samples.iter().map(|s| (s.thread, s.at_ns, s.weight_ns, s.observations)).collect::<Vec<_>>()
        };
        assert_eq!(lives(&threads), [(10, 100), (20, 100)]);
        assert_eq!(stretches(&first), [(sleeper, 10, 90, 2)]);
        timeline.observe(runner, 150, asleep, Some(AwakeTime { cpu_ns: 130, wait_ns: 0 }));
        timeline.end_thread(sleeper, 160, None);
        let (threads, second) = timeline.cut(100, 200);
        assert_eq!(lives(&threads), [(100, 160), (100, 200)]);
        assert_eq!(stretches(&second), [(runner, 20, 130, 1), (sleeper, 100, 60, 0), (runner, 150, 50, 1)]);
        assert!(timeline.cut(200, 200).1.is_empty());
    }

    #[test]
    fn time_awake_is_divided_as_the_scheduler_counted() {
        let mut timeline = Timeline::default();
        let process = timeline.add_process(Process::default());
        let running = seen(RunState::Running, StackId::EMPTY);
        let waiting = seen(RunState::Runnable, StackId::EMPTY);
        let counted = |cpu_ns, wait_ns| Some(AwakeTime { cpu_ns, wait_ns });
        let thread = timeline.add_thread(process, 1, String::new(), 0, running);
        timeline.observe(thread, 100, running, counted(30, 60));
        // Nothing new: the division goes on as before.
        timeline.observe(thread, 200, waiting, counted(0, 0));
        // Awake while it was taken to sleep: the sample sleeps, the count is made up for later.
        timeline.observe(thread, 300, seen(RunState::GilWait, StackId::EMPTY), counted(90, 0));
        timeline.observe(thread, 400, running, counted(120, 0));
        timeline.end_thread(thread, 500, counted(300, 0));
        let profile = timeline.finish(500, |_, raw| raw);
        let divided: Vec<_> =
            profile.samples.iter().map(|s| (s.at_ns, s.weight_ns, s.state, s.observations)).collect();
        let expected = [
            (0, 34, RunState::Running, 1),
            (34, 66, RunState::Runnable, 0),
            (100, 33, RunState::Running, 1),
            (133, 67, RunState::Runnable, 0),
            (200, 100, RunState::Running, 1),
            (300, 100, RunState::GilWait, 1),
            (400, 100, RunState::Running, 1),
        ];
        assert_eq!(divided, expected);
        assert_eq!(profile.check(), Ok(()));
    }
}

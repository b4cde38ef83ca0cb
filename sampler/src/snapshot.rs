//! One look at every thread, now: a recording of a single tick.
//!
//! A recording can leave to its next tick what the last one did not settle; a snapshot has no next tick. So threads whose
//! stack is larger than what was copied are looked at again, and a thread that was told to stop is waited for; both
//! within a bound, since what is looked at is often a process that hangs.
//!
//! ```text
//!   admit, map files, find interpreters │ look at all │ look again at those with larger stacks │ read what never stopped
//!                                       └──────────── at most LOOKS_NS, one instant per thread ┴──────► Profile
//! ```

use std::mem;
use std::thread;
use std::time::SystemTime;

use stackclock_collapse::{Counters, Profile, Recorded, ThreadId};

use crate::SamplerError;
use crate::backend::{CaptureBackend, Observation, ObservationSink, Tick, Verdict};
use crate::clock::Instant;
use crate::options::{FrameSelection, Stops, Subprocesses};
use crate::punctuality::Punctual;
use crate::recorder::Recorder;
use crate::recording::Recording;
use crate::target::{Target, admit, children_of};
use crate::watch::{Watch, allow_many_files};

/// From the first look to the last: what a thread that does not get a CPU can cost.
const LOOKS_NS: u64 = 300_000_000;
/// Looks at one thread: each copies four times as much stack, from 16 KiB to the most that is ever copied.
const MOST_LOOKS: usize = 6;
/// A process may start children faster than we can list them.
const MOST_GENERATIONS: usize = 64;
/// Every thread is seen at one instant, which stands for itself.
const INSTANT_NS: u64 = 1;

/// Whom to look at, and what for.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// The processes.
    pub pids: Vec<u32>,
    /// Whether to look at their descendants too.
    pub subprocesses: Subprocesses,
    /// Which frames to collect.
    pub frames: FrameSelection,
}

/// Looks once at every thread of the targets.
///
/// The profile has exactly one sample for each thread that was seen, of 1 ns, and a process without threads where one
/// ended meanwhile. It takes less than half a second, and then the time of looking names up, whatever state the threads
/// are in. SIGCHLD is blocked in the calling thread from now on.
pub fn snapshot(options: &SnapshotOptions) -> Result<Profile, SamplerError> {
    let started = SystemTime::now();
    allow_many_files();
    let mut watch = Watch::new(options.frames, Stops::Allowed)?;
    // With the thread that traces ends whatever it has asked for: a thread that gets a CPU only while names are looked up
    // must not stop for us then (`exit_ptrace`, kernel/ptrace.c).
    let looked = thread::scope(|scope| scope.spawn(|| look(&mut watch, options)).join());
    looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let recorded = Recorded { started, duration_ns: INSTANT_NS, rate_hz: 0.0 };
    let counters = Counters { ticks: 1, stopped_ns: watch.backend.stopped_ns(), ..Counters::default() };
    Ok(Recording::new(watch.recorder, recorded, counters, None).into_profile())
}

fn look(watch: &mut Watch, options: &SnapshotOptions) -> Result<(), SamplerError> {
    let _punctual = Punctual::begin();
    for &pid in &options.pids {
        admit(pid)?;
        watch.add(pid)?;
    }
    if options.subprocesses == Subprocesses::Follow {
        add_descendants(watch);
    }
    // What takes its time, so that little time lies between the first look and the last.
    catch_up(watch);
    look_at_all(watch);
    let seen = |target: &&Target| target.threads.iter().any(|thread| thread.record.is_some());
    match watch.targets.iter().find(|target| options.pids.contains(&target.pid) && !seen(target)) {
        Some(ended) => Err(SamplerError::NoSuchProcess { pid: ended.pid }),
        None => Ok(()),
    }
}

fn add_descendants(watch: &mut Watch) {
    let mut asked = 0;
    for _ in 0..MOST_GENERATIONS {
        catch_up(watch);
        let parents = watch.targets.get(asked..).unwrap_or_default();
        let threads =
            parents.iter().flat_map(|target| target.threads.iter().map(|thread| (target.pid, thread.tid)));
        let children: Vec<u32> = threads.flat_map(|(pid, tid)| children_of(pid, tid)).collect();
        asked = watch.targets.len();
        watch.add_children(&children);
        if watch.targets.len() == asked {
            return;
        }
    }
}

fn catch_up(watch: &mut Watch) {
    for target in &mut watch.targets {
        watch.recorder.catch_up(target, tick());
    }
}

fn look_at_all(watch: &mut Watch) {
    let deadline = Instant::now().plus_ns(LOOKS_NS);
    let Watch { backend, recorder, targets } = watch;
    let mut sink = Unsettled { recorder, wanting: Vec::new() };
    for target in targets.iter_mut() {
        sink.recorder.catch_up(target, tick());
        backend.observe(tick(), target, &mut sink);
    }
    for _ in 1..MOST_LOOKS {
        if Instant::now() > deadline {
            break;
        }
        for (pid, tid) in mem::take(&mut sink.wanting) {
            if let Some(target) = targets.iter_mut().find(|target| target.pid == pid)
                && let Some(index) = target.threads.iter().position(|thread| thread.tid == tid)
            {
                backend.observe_thread(tick(), target, index, &mut sink);
            }
        }
        while backend.has_pending() && sink.wanting.is_empty() && Instant::now() < deadline {
            backend.wait_until(deadline, targets, &mut sink);
        }
        if sink.wanting.is_empty() {
            break;
        }
    }
    backend.observe_pending(tick(), targets, &mut sink);
    for target in targets {
        recorder.rename(target);
    }
}

/// The present, as the one tick of the snapshot: whatever is seen later replaces what was seen earlier.
fn tick() -> Tick {
    Tick { began: Instant::now(), at_ns: 0 }
}

/// Passes observations on and notes the threads of which more stack is wanted.
struct Unsettled<'a> {
    recorder: &'a mut Recorder,
    /// Pids and tids.
    wanting: Vec<(u32, u32)>,
}

impl ObservationSink for Unsettled<'_> {
    fn observe(&mut self, target: &mut Target, index: usize, observation: Observation<'_>) -> Verdict {
        let verdict = self.recorder.observe(target, index, observation);
        if verdict == Verdict::WantsMoreStack {
            self.wanting.extend(target.threads.get(index).map(|thread| (target.pid, thread.tid)));
        }
        verdict
    }

    fn same(&mut self, thread: ThreadId) {
        self.recorder.same(thread);
    }
}

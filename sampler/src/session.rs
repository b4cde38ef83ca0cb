//! One recording from its first tick to its last.
//!
//! ```text
//!   start: admit or launch ──► run: ┌─► wait until the next tick is due ──► threads, children, maps, interpreter
//!                                   │                                            │
//!                                   └── recorder ◄── observations ◄── backend ◄──┘      ──► Recording
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use stackclock_collapse::{Counters, Recorded};
use stackclock_unwinder::native::ModuleStore;

use crate::SamplerError;
use crate::backend::{Account, CaptureBackend, Tick};
use crate::clock::Instant;
use crate::options::{SessionOptions, Subprocesses, Targets};
use crate::ptrace::block_child_signal;
use crate::punctuality::Punctual;
use crate::recorder::Recorder;
use crate::recording::{Child, Recording};
use crate::target::{Launched, Life, admit, children_of};
use crate::ticker::Ticker;
use crate::watch::{Watch, allow_many_files};

/// New children are looked for this often.
const CHILDREN_EVERY_NS: u64 = 10_000_000;
/// Threads that were told to stop and still wait for a CPU when the recording ends get this long.
const LAST_STOPS_NS: u64 = 100_000_000;

/// How far a recording has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Time since the first tick.
    pub elapsed: Duration,
    /// Ticks so far.
    pub ticks: u64,
    /// Observations of threads.
    pub samples: u64,
    /// Samples that are not whole.
    pub errors: u64,
    /// Ticks that began late.
    pub late: u64,
    /// Time for which threads of the targets were stopped, summed over threads.
    pub stopped: Duration,
}

/// A stop request is heeded within this time, whatever the rate: signals go to other threads than the sampling one.
const HEED_STOP_NS: u64 = 100_000_000;

/// Records until `stop` is set, the duration is over or all targets have ended. `progress` is called after every tick,
/// from the sampling thread.
///
/// To attach, that is a thread of its own, since ptrace knows tracers by thread: with it ends whatever it has asked for,
/// so that a thread that gets a CPU only later does not stop for a tracer that looks up names by then (`exit_ptrace`,
/// kernel/ptrace.c). To launch, it is the calling thread: a program that asked to die with its parent
/// (PR_SET_PDEATHSIG) would otherwise die with its recording. SIGCHLD is blocked in the calling thread from now on.
pub fn record(
    options: SessionOptions,
    stop: &AtomicBool,
    progress: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Recording, SamplerError> {
    block_child_signal()?;
    let launches = matches!(options.targets, Targets::Launch(_));
    let sample = || Session::start(options)?.run(stop, progress);
    if launches {
        return sample();
    }
    let sampled = std::thread::scope(|scope| scope.spawn(sample).join());
    sampled.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A recording that can begin: every target was found to be one.
#[derive(Debug)]
pub struct Session {
    options: SessionOptions,
    watch: Watch,
    launched: Option<Launched>,
    children_seen: Instant,
    ticks: u64,
}

impl Session {
    /// Checks and opens the targets, or launches one. To be called, and [`run`](Self::run), from the same thread:
    /// ptrace knows tracers by thread. SIGCHLD is blocked in that thread from now on.
    pub fn start(options: SessionOptions) -> Result<Self, SamplerError> {
        let mut session = Session {
            watch: Watch::new(options.frames, options.stops)?,
            launched: None,
            children_seen: Instant(0),
            ticks: 0,
            options,
        };
        match session.options.targets.clone() {
            Targets::Attach(pids) => {
                for pid in pids {
                    admit(pid)?;
                    session.watch.add(pid)?;
                }
            }
            Targets::Launch(command) => {
                let launched = Launched::start(&command, session.options.streams)?;
                session.watch.add(launched.pid())?;
                session.launched = Some(launched);
            }
        }
        allow_many_files();
        Ok(session)
    }

    /// The files that are mapped in the targets, now and later.
    pub(crate) fn modules(&self) -> Arc<ModuleStore> {
        Arc::clone(&self.watch.recorder.modules)
    }

    /// Records until `stop` is set, the duration is over or all targets have ended. `progress` is called after
    /// every tick.
    pub fn run(
        self,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Recording, SamplerError> {
        self.run_with(stop, &mut |_, _, figures| progress(figures))
    }

    /// Records in the same way. `after_tick` is given what was recorded so far, the tick's instant in ns since the
    /// recording began, and how it is going.
    pub(crate) fn run_with(
        mut self,
        stop: &AtomicBool,
        after_tick: &mut dyn FnMut(&mut Recorder, u64, &Progress),
    ) -> Result<Recording, SamplerError> {
        let punctual = Punctual::begin();
        let started = SystemTime::now();
        let begin = Instant::now();
        let end = self.options.duration.map(|duration| begin.plus_ns(duration.as_nanos() as u64));
        let child = self.launched.take().map(Launched::let_go).transpose()?;
        let mut ticker = Ticker::new(self.options.interval, begin);
        while !stop.load(Ordering::Relaxed)
            && self.watch.targets.iter().any(|target| target.life == Life::Running)
        {
            let due = ticker.deadline();
            let until = due.min(Instant::now().plus_ns(HEED_STOP_NS));
            self.watch.wait_until(end.map_or(until, |end| end.min(until)));
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) {
                break;
            }
            if now >= due {
                ticker.began(now);
                let at_ns = now.ns_since(begin);
                self.tick(Tick { began: now, at_ns });
                let progress = self.progress(begin, &ticker);
                after_tick(&mut self.watch.recorder, at_ns, &progress);
            }
        }
        self.finish(begin, end);
        drop(punctual);
        let now = Instant::now();
        let duration_ns = end.map_or(now, |end| end.min(now)).ns_since(begin);
        let counters = Counters {
            ticks: self.ticks,
            late: ticker.late,
            missed: ticker.missed,
            stopped_ns: self.watch.backend.stopped_ns(),
            ..Counters::default()
        };
        let rate_hz = 1e9 / self.options.interval.as_nanos() as f64;
        let child = child.map(|pid| Child::new(pid, self.watch.backend.tracer().child_status(pid)));
        Ok(Recording::new(self.watch.recorder, Recorded { started, duration_ns, rate_hz }, counters, child))
    }

    fn tick(&mut self, tick: Tick) {
        self.ticks += 1;
        if self.options.subprocesses == Subprocesses::Follow {
            self.follow_children(tick);
        }
        let Watch { backend, recorder, targets } = &mut self.watch;
        for target in targets.iter_mut().filter(|target| target.life == Life::Running) {
            recorder.catch_up(target, tick);
            if target.life == Life::Running {
                backend.observe(tick, target, recorder);
            }
        }
    }

    /// Makes targets of the processes that targets have started. A thread that has not run since has forked
    /// nothing.
    fn follow_children(&mut self, tick: Tick) {
        if tick.began.ns_since(self.children_seen) < CHILDREN_EVERY_NS {
            return;
        }
        self.children_seen = tick.began;
        let running = self.watch.targets.iter_mut().filter(|target| target.life == Life::Running);
        let forkers = running.flat_map(|target| {
            let pid = target.pid;
            let threads = target.threads.iter_mut();
            threads.filter_map(move |thread| thread.ran_since_children().then_some((pid, thread.tid)))
        });
        let children: Vec<u32> = forkers.flat_map(|(pid, tid)| children_of(pid, tid)).collect();
        self.watch.add_children(&children);
    }

    /// Waits a little for stops that are still to come, and closes every thread's account.
    fn finish(&mut self, begin: Instant, end: Option<Instant>) {
        let patience = Instant::now().plus_ns(LAST_STOPS_NS);
        while self.watch.backend.has_pending() && Instant::now() < patience {
            self.watch.wait_until(patience);
        }
        let now = Instant::now();
        let at_ns = end.map_or(now, |end| end.min(now)).ns_since(begin);
        for target in &mut self.watch.targets {
            self.watch.recorder.rename(target);
            for thread in &mut target.threads {
                let last = thread.schedstat().ok();
                thread.last = last.unwrap_or(thread.last);
                let account = last.map(Account::at_once);
                self.watch.recorder.thread_ended(thread, at_ns, account);
            }
        }
    }

    fn progress(&self, begin: Instant, ticker: &Ticker) -> Progress {
        Progress {
            elapsed: Duration::from_nanos(Instant::now().ns_since(begin)),
            ticks: self.ticks,
            samples: self.watch.recorder.tally.samples,
            errors: self.watch.recorder.tally.errors(),
            late: ticker.late,
            stopped: Duration::from_nanos(self.watch.backend.stopped_ns()),
        }
    }
}

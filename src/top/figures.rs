//! Where the time went: in the last window, and since the beginning.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;
use stackclock_collapse::table::{self, Sort, Split};
use stackclock_collapse::{Clock, Code, Profile, View, ViewOptions};

/// Time in a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FunctionTime {
    /// In the function itself.
    #[serde(rename = "self")]
    pub own: Split,
    /// In it and what it called.
    pub total: Split,
}

/// Time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ThreadTime {
    /// By what it was doing.
    pub time: Split,
    /// Time in which it held its interpreter's GIL, ns.
    pub holds_gil_ns: u64,
}

impl AddAssign for FunctionTime {
    fn add_assign(&mut self, other: Self) {
        self.own += other.own;
        self.total += other.total;
    }
}

impl AddAssign for ThreadTime {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.holds_gil_ns += other.holds_gil_ns;
    }
}

/// In the last window, and since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lately<T> {
    /// In the last window.
    pub last: T,
    /// Since the beginning, the last window included.
    pub all: T,
}

impl<T: AddAssign + Copy> Lately<T> {
    fn add(&mut self, last: T) {
        self.last = last;
        self.all += last;
    }
}

/// A function's figures.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionFigures {
    /// `function (file)` or `function (module)`.
    pub function: String,
    /// Its time.
    #[serde(flatten)]
    pub time: Lately<FunctionTime>,
}

/// A thread's figures.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadFigures {
    /// Id of its process.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its time.
    #[serde(flatten)]
    pub time: Lately<ThreadTime>,
}

/// A process.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessFigures {
    /// Its id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// The version of its CPython.
    pub python: Option<String>,
}

/// Everything that is shown.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    code: Code,
    /// Length of the last window, ns.
    pub last_ns: u64,
    /// Time since the beginning, ns.
    pub all_ns: u64,
    /// All processes.
    pub processes: Vec<ProcessFigures>,
    functions: BTreeMap<String, Lately<FunctionTime>>,
    /// By pid and tid.
    threads: BTreeMap<(u32, u32), ThreadFigures>,
}

impl Figures {
    /// No time has passed. Only frames that `code` shows will count.
    pub fn new(code: Code) -> Self {
        Figures { code, ..Figures::default() }
    }

    /// Takes in the profile of a window.
    pub fn absorb(&mut self, window: &Profile) {
        let end_ns = window.recorded.duration_ns;
        self.last_ns = end_ns.saturating_sub(self.all_ns);
        self.all_ns = end_ns;
        self.processes = (window.processes.iter())
            .map(|process| ProcessFigures {
                pid: process.pid,
                command: process.name.clone(),
                python: process.python.clone(),
            })
            .collect();
        self.absorb_functions(window);
        self.absorb_threads(window);
    }

    fn absorb_functions(&mut self, window: &Profile) {
        let options = ViewOptions { clock: Clock::WallClock, code: self.code, ..ViewOptions::default() };
        let table = table::functions(&View::new(window, &options), Sort::SelfTime, usize::MAX);
        for time in self.functions.values_mut() {
            time.last = FunctionTime::default();
        }
        for row in table.functions {
            let last = FunctionTime { own: row.self_time, total: row.total };
            self.functions.entry(row.function).or_default().add(last);
        }
    }

    fn absorb_threads(&mut self, window: &Profile) {
        let mut times = vec![ThreadTime::default(); window.threads.len()];
        for sample in &window.samples {
            let holds_gil_ns = if sample.holds_gil { sample.weight_ns } else { 0 };
            if let Some(time) = times.get_mut(sample.thread.0 as usize) {
                *time += ThreadTime { time: Split::of(sample.state, sample.weight_ns), holds_gil_ns };
            }
        }
        for known in self.threads.values_mut() {
            known.time.last = ThreadTime::default();
        }
        for (thread, time) in window.threads.iter().zip(times) {
            // Threads that ended before this window have no time in it.
            if time.time.sum_ns() == 0 {
                continue;
            }
            let Some(process) = window.processes.get(thread.process.0 as usize) else { continue };
            let known = self.threads.entry((process.pid, thread.tid)).or_insert_with(|| ThreadFigures {
                pid: process.pid,
                tid: thread.tid,
                name: String::new(),
                time: Lately::default(),
            });
            known.name.clone_from(&thread.name);
            known.time.add(time);
        }
    }

    /// All functions, in no particular order.
    pub fn functions(&self) -> impl Iterator<Item = FunctionFigures> + '_ {
        let functions = self.functions.iter();
        functions.map(|(function, &time)| FunctionFigures { function: function.clone(), time })
    }

    /// All threads, by pid and tid.
    pub fn threads(&self) -> impl Iterator<Item = &ThreadFigures> + '_ {
        self.threads.values()
    }

    /// The time of all threads together.
    pub fn everything(&self) -> Lately<ThreadTime> {
        let mut sum = Lately::default();
        for thread in self.threads.values() {
            sum.last += thread.time.last;
            sum.all += thread.time.all;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use stackclock_collapse::{
        Frame, Process, Recorded, RunState, Sample, StackId, Thread, ThreadId, ThreadTotals,
    };

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// The window that ends at `end_ns`, of one thread that was all the time in `state` and `function`.
    fn window(end_ns: u64, state: RunState, function: &str, holds_gil: bool) -> Profile {
        let mut profile = Profile {
            recorded: Recorded { duration_ns: end_ns, ..Recorded::default() },
            processes: vec![Process { pid: 7, name: "server".to_owned(), python: None }],
            threads: vec![Thread {
                process: stackclock_collapse::ProcessId(0),
                tid: 8,
                name: "worker".to_owned(),
                start_ns: end_ns - SECOND,
                end_ns,
                totals: ThreadTotals::default(),
            }],
            ..Profile::default()
        };
        let frame = profile.frames.intern(Frame::from_text(function));
        let stack = profile.stacks.push(StackId::EMPTY, frame);
        let at_ns = end_ns - SECOND;
        let thread = ThreadId(0);
        profile.samples =
            vec![Sample { thread, at_ns, weight_ns: SECOND, observations: 1, state, stack, holds_gil }];
        profile
    }

    #[test]
    fn the_last_window_is_apart_and_all_windows_add_up() {
        let mut figures = Figures::new(Code::All);
        figures.absorb(&window(SECOND, RunState::Running, "f (a.py:1)", true));
        figures.absorb(&window(2 * SECOND, RunState::GilWait, "g (a.py:2)", false));
        assert_eq!((figures.last_ns, figures.all_ns), (SECOND, 2 * SECOND));
        let running = Split::of(RunState::Running, SECOND);
        let waiting = Split::of(RunState::GilWait, SECOND);
        let functions: Vec<_> = figures.functions().collect();
        let own = |at: usize| {
            (functions[at].function.as_str(), functions[at].time.last.own, functions[at].time.all.own)
        };
        assert_eq!(own(0), ("f (a.py)", Split::default(), running));
        assert_eq!(own(1), ("g (a.py)", waiting, waiting));
        let everything = figures.everything();
        assert_eq!((everything.last.holds_gil_ns, everything.all.holds_gil_ns), (0, SECOND));
        assert_eq!(everything.all.time.sum_ns(), 2 * SECOND);
        assert_eq!(figures.threads().next().unwrap().name, "worker");
    }
}

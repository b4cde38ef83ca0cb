//! py-spy as the oracle: both readers on the same stopped thread, frame for frame, stopped anywhere in a busy program.
//!
//! Function names, files and lines are the same but for the [`Difference`]s below. Each of them is accepted only under
//! its own condition, and who is right is told by the program itself: `calls.py` says which calls it makes from which
//! lines (`sys._getframe`), and which of its functions have instructions without a line (`co_lines`).

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use nix::unistd::Pid;
use py_spy::PythonSpy;
use py_spy::config::{Config, LockingStrategy};
use stackclock_unwinder::python::{PythonError, ThreadHints};

use crate::pythons::{Python, pythons};
use crate::reader::{Chain, Reader, thread_of};
use crate::support::Stopped;
use crate::target::Target;

const STOPS: u64 = 1500;
/// Of so many stops a 3.11 or 3.12 may be caught while it makes a `CFrame`.
const MOST_UNFILLED: u64 = STOPS / 100;

/// Where both are not the same, and why.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Difference {
    /// 3.10: bytecode without a line is passed over by py-spy without counting its length, so that it is too early
    /// in the line table from there on. Ours is a line of a call that the program makes; py-spy's is not.
    LengthNotCounted,
    /// 3.10: the leaf is about to execute its first instruction (`f_lasti` is -1). Ours is the line of its `def`, as
    /// `f_lineno` of a generator that has not started; py-spy's is the first line of its body.
    NotStarted,
    /// 3.11 on: an instruction without a line. `f_lineno` is None and ours is 0; py-spy's is the line before.
    NoLine,
    /// 3.11, 3.12: the loop was being entered, and its new `CFrame`, already linked, held what was on the stack before
    /// (`walk/stacked.rs`). We notice and go on from the one below; py-spy follows it to frames of the past, or fails.
    CFrameNotFilled,
}

/// What the program says of itself.
struct Truth {
    /// Callee, caller and line of the call.
    calls: HashSet<(String, String, u32)>,
    /// Functions that have instructions without a line.
    without_line: HashSet<String>,
    /// `f_lineno` of frames that have not started, less `co_firstlineno`.
    lines_before_start: Vec<i64>,
}

impl Truth {
    fn told_by(target: &mut Target) -> Truth {
        let said = target.json();
        let list = |name: &str| said[name].as_array().expect("a list").clone();
        let text = |value: &serde_json::Value| value.as_str().expect("a name").to_owned();
        let call = |call: &serde_json::Value| {
            (text(&call[0]), text(&call[1]), call[2].as_u64().expect("a line") as u32)
        };
        Truth {
            calls: list("calls").iter().map(call).collect(),
            without_line: list("without_line").iter().map(text).collect(),
            lines_before_start: list("lines_before_start").iter().filter_map(|line| line.as_i64()).collect(),
        }
    }

    /// The calls of a chain that the program does not make. A leaf that is `starting` may be about to become a
    /// generator, in a call that the program could not see.
    fn impossible_calls(&self, chain: &Chain, starting: bool) -> usize {
        let pairs = chain.windows(2).skip(usize::from(starting));
        pairs.filter(|pair| !self.calls.contains(&(pair[0].0.clone(), pair[1].0.clone(), pair[1].2))).count()
    }

    /// Whether a chain can be: all calls are the program's, and it begins with the module.
    fn is_possible(&self, chain: &Chain, starting: bool) -> bool {
        self.impossible_calls(chain, starting) == 0
            && chain.last().is_some_and(|(name, ..)| name.as_str() == "<module>")
    }

    /// The reasons for which two chains differ; `None` when there is no good one.
    fn differences(
        &self,
        minor: u8,
        ours: &Chain,
        theirs: &Chain,
        starting: bool,
    ) -> Option<Vec<Difference>> {
        let same_functions = ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(ours, theirs)| (&ours.0, &ours.1) == (&theirs.0, &theirs.1));
        if !same_functions {
            return matches!(minor, 11 | 12).then(|| vec![Difference::CFrameNotFilled]);
        }
        let lines = ours.iter().zip(theirs).enumerate().filter(|(_, (ours, theirs))| ours.2 != theirs.2);
        lines
            .map(|(depth, (ours, _))| match (minor, ours.2) {
                (10, _) if depth == 0 && starting => Some(Difference::NotStarted),
                _ if !self.without_line.contains(&ours.0) => None,
                (10, _) => Some(Difference::LengthNotCounted),
                (11.., 0) => Some(Difference::NoLine),
                _ => None,
            })
            .collect()
    }
}

/// Attached without stopping anything: that is our part.
fn spy_on(target: &Target) -> PythonSpy {
    let config = Config { blocking: LockingStrategy::AlreadyLocked, ..Config::default() };
    PythonSpy::new(target.pid() as i32, &config).expect("py-spy finds the interpreter")
}

/// py-spy's frames of the thread whose `pthread_t` is `ident`.
fn chain_by_py_spy(spy: &mut PythonSpy, ident: u64) -> Option<Chain> {
    let traces = spy.get_stack_traces().ok()?;
    let trace = traces.into_iter().find(|trace| trace.thread_id == ident).expect("py-spy knows the thread");
    let frames = trace.frames.into_iter();
    Some(frames.map(|frame| (frame.name, frame.filename, frame.line as u32)).collect())
}

fn check(python: &Python) {
    let mut target = Target::start(python, "calls.py", &[]);
    let truth = Truth::told_by(&mut target);
    let interpreter = target.interpreter();
    let thread = thread_of(&interpreter, target.pid());
    let (mut spy, mut reader, mut hints) = (spy_on(&target), Reader::default(), ThreadHints::default());
    let (mut seen, mut differences) = (HashSet::new(), BTreeMap::<Difference, u64>::new());
    let (mut unfilled, mut disproved) = (0, 0);
    for stop in 0..STOPS {
        // Let it run on; that it is found elsewhere each time is checked below.
        std::thread::sleep(Duration::from_micros(50 + stop * 37 % 400));
        let stopped = Stopped::new(Pid::from_raw(target.pid() as i32));
        let read = reader.read(&target, &interpreter, &thread, &mut hints);
        let theirs = chain_by_py_spy(&mut spy, thread.thread_id.0);
        drop(stopped);
        match read {
            Err(PythonError::Torn) if matches!(python.version.1, 11 | 12) => {
                unfilled += 1;
                continue;
            }
            read => read.expect("a stopped thread can be read"),
        }
        let ours = reader.chain();
        let starting = reader.stack.frames.first().is_some_and(|leaf| {
            reader.codes.code(leaf.code).is_some_and(|code| code.first_line == leaf.line)
        });
        assert!(truth.is_possible(&ours, starting), "{:?}: {ours:#?}", python.version);
        let found = match &theirs {
            Some(theirs) => truth.differences(python.version.1, &ours, theirs, starting),
            None => matches!(python.version.1, 11 | 12).then(|| vec![Difference::CFrameNotFilled]),
        };
        let found =
            found.unwrap_or_else(|| panic!("{:?}: ours {ours:#?}\npy-spy's {theirs:#?}", python.version));
        disproved += usize::from(theirs.is_some_and(|theirs| !truth.is_possible(&theirs, starting)));
        for difference in found {
            *differences.entry(difference).or_default() += 1;
        }
        seen.insert(ours);
    }
    assert!(truth.lines_before_start.iter().all(|&line| line == 0), "{:?}", truth.lines_before_start);
    assert!(seen.len() > 50, "{:?}: stopped in only {} places", python.version, seen.len());
    let caught = differences.get(&Difference::CFrameNotFilled).copied().unwrap_or_default();
    assert!(unfilled + caught <= MOST_UNFILLED, "{:?}: {unfilled} {differences:?}", python.version);
    if differences.contains_key(&Difference::LengthNotCounted) {
        assert!(disproved > 0, "{:?}: nothing says that py-spy is wrong", python.version);
    }
    println!(
        "{:?}: {STOPS} stops, {} stacks; ours all possible, {unfilled} unreadable; py-spy's differ: {differences:?}, \
         {disproved} impossible",
        python.version,
        seen.len()
    );
}

#[test]
fn stopped_threads_have_the_frames_that_py_spy_reads() {
    pythons().iter().for_each(check);
}

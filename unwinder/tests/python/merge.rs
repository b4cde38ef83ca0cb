//! Merged stacks of live interpreters: native frames by our own unwinder, Python frames by our own reader.

use std::collections::HashSet;

use nix::unistd::Pid;
use stackclock_collapse::FrameKind;
use stackclock_unwinder::merge::{EvalCode, MergeOutcome, merge};
use stackclock_unwinder::native::{AddressSpace, CodePlace, ModuleStore, NativeStack, StackEnd, Unwinder};
use stackclock_unwinder::python::{PythonError, ThreadHints};
use stackclock_unwinder::symbolize::{InterpreterFrames, KernelSymbols, NameSources, Symbolizer};
use stackclock_unwinder::{FrameAddress, RawFrame};

use crate::frames::parse_chain;
use crate::pythons::{Python, pythons};
use crate::reader::{Reader, thread_of};
use crate::support::{Stopped, address_space};
use crate::target::{READ, Target};

/// What a recording keeps of one process to merge its stacks.
struct Merger {
    store: ModuleStore,
    space: AddressSpace,
    unwinder: Unwinder,
    native: NativeStack,
    eval: EvalCode,
    symbolizer: Symbolizer,
    merged: Vec<RawFrame>,
}

impl Merger {
    fn new(target: &Target) -> Merger {
        let store = ModuleStore::new();
        let space = address_space(Pid::from_raw(target.pid() as i32), &store);
        let mut eval = EvalCode::default();
        let symbolizer = Symbolizer::new(InterpreterFrames::Hide, KernelSymbols::default());
        for module in store.modules() {
            let file = module.path().rsplit('/').next().unwrap_or_default();
            if file.starts_with("libpython3.") || file.starts_with("python3.") {
                eval.add_interpreter(&module);
            }
        }
        let (unwinder, native) = (Unwinder::new(), NativeStack::default());
        Merger { store, space, unwinder, native, eval, symbolizer, merged: Vec::new() }
    }

    /// Stops the thread `tid` and merges its stack.
    fn merge(&mut self, target: &Target, tid: u32, reader: &mut Reader) -> Result<MergeOutcome, PythonError> {
        let stopped = Stopped::new(Pid::from_raw(tid as i32));
        let interpreter = target.interpreter();
        let thread = thread_of(&interpreter, tid);
        reader.read(target, &interpreter, &thread, &mut ThreadHints::default())?;
        let (registers, memory) = (stopped.registers(), target.memory());
        let start = FrameAddress::InstructionPointer(registers.ip);
        self.unwinder.unwind(&self.space, start, &registers, &memory, &mut self.native);
        Ok(merge(&self.native, &memory, &reader.stack, &mut self.eval, &mut self.merged))
    }

    /// The merged stack with names, leaf first.
    fn names(&mut self, reader: &Reader) -> Vec<(FrameKind, String)> {
        let names = NameSources { modules: &self.store, codes: &reader.codes, perf_map: None };
        let mut found = Vec::new();
        for &raw in &self.merged {
            let frames = self.symbolizer.symbolize(raw, names);
            found.extend(frames.iter().rev().map(|frame| (frame.kind, frame.name.to_string())));
        }
        found
    }
}

/// The native functions between the Python functions `inner` and `outer`, leaf first.
fn between(names: &[(FrameKind, String)], inner: &str, outer: &str) -> Vec<String> {
    let is_function = |(kind, name): &(FrameKind, String), wanted: &str| {
        *kind == FrameKind::Python && name.rsplit('.').next() == Some(wanted)
    };
    let from = names.iter().position(|frame| is_function(frame, inner));
    let from = from.unwrap_or_else(|| panic!("no {inner} in {names:#?}"));
    let rest = &names[from + 1..];
    let to = rest.iter().position(|frame| is_function(frame, outer));
    let to = to.unwrap_or_else(|| panic!("no {outer} beyond {inner} in {names:#?}"));
    rest[..to].iter().map(|(_, name)| name.clone()).collect()
}

fn check_thread(python: &Python, merger: &mut Merger, reader: &mut Reader, target: &Target, tid: u32) {
    let outcome = merger.merge(target, tid, reader).expect("a blocked thread can be read");
    assert_eq!(merger.native.end, StackEnd::Root, "{:?}", python.version);
    let runs = reader.stack.runs.len() as u32;
    let expected = MergeOutcome { placed: runs, ..MergeOutcome::default() };
    assert_eq!(outcome, expected, "{:?}: {:#?}", python.version, merger.native);
    let python_frames = merger.merged.iter().filter(|frame| matches!(frame, RawFrame::Python { .. })).count();
    assert_eq!(python_frames, reader.stack.frames.len());
    // The outermost frame is the thread's own, not Python's; the innermost is the system call's.
    assert!(matches!(merger.merged.first(), Some(RawFrame::Native { .. })));
    assert!(matches!(merger.merged.last(), Some(RawFrame::Native { .. })));
    let in_module = |place: CodePlace| matches!(place, CodePlace::Module { .. });
    assert!(merger.native.frames.iter().all(|frame| in_module(frame.place)));
}

fn check_merge(python: &Python) {
    let mut target = Target::start(python, "chains.py", &["1000"]);
    let chains = target.json();
    let (mut merger, mut reader) = (Merger::new(&target), Reader::default());
    let mut nested = 0;
    for (tid, chain) in chains.as_object().expect("one chain per thread") {
        let tid = tid.parse().expect("a tid");
        target.wait_blocked(tid, READ);
        check_thread(python, &mut merger, &mut reader, &target, tid);
        let names = merger.names(&reader);
        let of_python: Vec<_> =
            names.iter().filter(|(kind, _)| *kind == FrameKind::Python).map(|(_, name)| name).collect();
        let expected = parse_chain(chain);
        assert!(of_python.iter().zip(&expected).all(|(found, (name, ..))| *found == name), "{of_python:#?}");
        if !expected.iter().any(|(name, ..)| name.ends_with("in_callback")) {
            continue;
        }
        nested += 1;
        // Between Python functions lies what C did: names where the build has symbols, frames in any.
        let sorted = between(&names, "<lambda>", "method");
        let reduced = between(&names, "grüße", "compute");
        let called = between(&names, "in_callback", "inner_coroutine");
        assert!(called.iter().any(|name| name.contains("ffi")), "{:?}: {called:?}", python.version);
        assert!(!sorted.is_empty() && !reduced.is_empty(), "{:?}: {names:#?}", python.version);
        let has_symbols = python.path.starts_with(std::env::var_os("HOME").unwrap_or_default());
        if has_symbols {
            assert!(sorted.iter().any(|name| name.contains("sort")), "{:?}: {sorted:?}", python.version);
            assert!(reduced.iter().any(|name| name.contains("reduce")), "{:?}: {reduced:?}", python.version);
            assert_eq!(between(&names, "compute", "<lambda>"), [""; 0], "{:?}", python.version);
        }
    }
    assert_eq!(nested, 1);
    println!("{:?}: {} threads merged", python.version, chains.as_object().expect("an object").len());
}

/// A thread that runs all the time, stopped at any instruction.
fn check_running(python: &Python) {
    const STOPS: usize = 200;
    let mut target = Target::start(python, "busy.py", &[]);
    let edges = target.json();
    let edges: HashSet<(&str, &str)> = edges.as_array().expect("a list").iter().map(edge).collect();
    let (mut merger, mut reader) = (Merger::new(&target), Reader::default());
    let (mut unanchored, mut dropped, mut runs) = (0, 0, 0);
    let mut unfilled = 0;
    for _ in 0..STOPS {
        let outcome = match merger.merge(&target, target.pid(), &mut reader) {
            // Stopped while the loop fills in its CFrame (`walk/stacked.rs`).
            Err(PythonError::Torn) if matches!(python.version.1, 11 | 12) => {
                unfilled += 1;
                continue;
            }
            outcome => outcome.expect("a stopped thread can be read"),
        };
        assert_eq!(merger.native.end, StackEnd::Root, "{:?}", python.version);
        assert_eq!(outcome.unplaced, 0, "{:?}: {outcome:?} {:#?}", python.version, reader.stack);
        assert_eq!(outcome.placed + outcome.dropped, reader.stack.runs.len() as u32);
        assert!(outcome.unanchored <= 1 && outcome.dropped <= 1, "{:?}: {outcome:?}", python.version);
        (unanchored, dropped) = (unanchored + outcome.unanchored, dropped + outcome.dropped);
        runs += outcome.placed;
        let chain = reader.chain();
        for pair in chain.windows(2) {
            let (callee, caller) = (pair[0].0.as_str(), pair[1].0.as_str());
            assert!(
                edges.contains(&(caller, callee)),
                "{:?}: {caller} calls {callee}? {chain:#?}",
                python.version
            );
        }
        assert_eq!(chain.last().map(|(name, ..)| name.as_str()), Some("<module>"));
    }
    assert!(unfilled <= STOPS / 50, "{:?}: {unfilled} stops unreadable", python.version);
    println!(
        "{:?}: {STOPS} stops, {unfilled} unreadable, {runs} runs placed, {dropped} dropped, {unanchored} unanchored",
        python.version
    );
}

fn edge(edge: &serde_json::Value) -> (&str, &str) {
    (edge[0].as_str().expect("a caller"), edge[1].as_str().expect("a callee"))
}

#[test]
fn a_running_thread_stopped_anywhere_has_a_possible_stack() {
    pythons().iter().for_each(check_running);
}

#[test]
fn runs_lie_in_the_frames_of_the_loop() {
    pythons().iter().for_each(check_merge);
}

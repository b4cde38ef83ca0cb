//! Frames of live interpreters against what these say of themselves.

use std::collections::HashMap;

use stackclock_unwinder::python::{PythonFrame, ThreadHints};

use crate::pythons::{Python, pythons};
use crate::reader::{Chain, Reader, thread_of};
use crate::target::{READ, Target};

pub fn parse_chain(chain: &serde_json::Value) -> Chain {
    let frame = |frame: &serde_json::Value| {
        let text = |at: usize| frame[at].as_str().expect("text").to_owned();
        (text(0), text(1), frame[2].as_u64().expect("a line") as u32)
    };
    chain.as_array().expect("a chain").iter().map(frame).collect()
}

fn check_chains(python: &Python) {
    let mut target = Target::start(python, "chains.py", &["3000"]);
    let chains = target.json();
    let chains = chains.as_object().expect("one chain per thread");
    let interpreter = target.interpreter();
    let mut reader = Reader::default();
    assert_eq!(chains.len(), 5);
    for (tid, chain) in chains {
        let tid = tid.parse().expect("a tid");
        target.wait_blocked(tid, READ);
        let thread = thread_of(&interpreter, tid);
        let mut hints = ThreadHints::default();
        let expected = parse_chain(chain);
        // Once without hints and once with them.
        for _ in 0..2 {
            reader.read(&target, &interpreter, &thread, &mut hints).expect("a blocked thread can be read");
            let found = reader.chain();
            assert_eq!(found.len(), expected.len(), "{:?}: {found:#?}", python.version);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{:?}", python.version);
            }
            assert_eq!(reader.stack.unknown, 0);
        }
    }
    println!("{:?}: {} threads, all frames and lines equal", python.version, chains.len());
}

#[test]
fn names_files_and_lines_are_the_interpreters_own() {
    pythons().iter().for_each(check_chains);
}

#[test]
fn a_second_capture_needs_one_read() {
    for python in pythons() {
        let mut target = Target::start(&python, "chains.py", &["100"]);
        let chains = target.json();
        let interpreter = target.interpreter();
        let mut reader = Reader::default();
        for tid in chains.as_object().expect("one chain per thread").keys() {
            let tid = tid.parse().expect("a tid");
            target.wait_blocked(tid, READ);
            let (thread, mut hints) = (thread_of(&interpreter, tid), ThreadHints::default());
            let memory = target.memory();
            interpreter.capture(&thread, &mut hints, &memory, &mut reader.capture).expect("readable");
            let before = memory.calls();
            interpreter.capture(&thread, &mut hints, &memory, &mut reader.capture).expect("readable");
            assert_eq!(memory.calls() - before, 1, "{:?}", python.version);
        }
    }
}

/// A thread that makes a fresh function for each byte it reads, always of the same size: names, code objects and
/// line tables are again and again at the same addresses.
fn check_fresh_functions(python: &Python) {
    let mut target = Target::start(python, "fresh_functions.py", &[]);
    target.json();
    target.go_on();
    let interpreter = target.interpreter();
    let thread = thread_of(&interpreter, target.pid());
    let (mut reader, mut hints) = (Reader::default(), ThreadHints::default());
    let mut names_at: HashMap<u64, Vec<String>> = HashMap::new();
    for _ in 0..300 {
        let said = target.json();
        target.wait_blocked(target.pid(), READ);
        reader.read(&target, &interpreter, &thread, &mut hints).expect("a blocked thread can be read");
        let expected = parse_chain(&said["chain"]);
        assert_eq!(reader.chain(), expected, "{:?}", python.version);
        assert_eq!(reader.stack.unknown, 0);
        names_at.entry(said["id"].as_u64().expect("an address")).or_default().push(expected[0].0.clone());
        target.go_on();
    }
    let reused = names_at.values().filter(|names| names.len() > 1).count();
    assert!(reused > 0, "{:?}: no address was used twice, so this has shown nothing", python.version);
    println!("{:?}: 300 functions at {} addresses, every name right", python.version, names_at.len());
}

#[test]
fn a_code_object_at_a_used_address_has_its_own_name() {
    pythons().iter().for_each(check_fresh_functions);
}

/// Functions that die between the capture and the reading of their names must not get the names of others.
#[test]
fn a_code_object_that_died_before_its_name_was_read_is_unknown() {
    for python in pythons() {
        let mut target = Target::start(&python, "fresh_functions.py", &[]);
        target.json();
        target.go_on();
        let interpreter = target.interpreter();
        let thread = thread_of(&interpreter, target.pid());
        let memory = target.memory();
        let mut hints = ThreadHints::default();
        let mut unknown = 0;
        for _ in 0..100 {
            let name = parse_chain(&target.json()["chain"])[0].0.clone();
            target.wait_blocked(target.pid(), READ);
            let mut reader = Reader::default();
            interpreter.capture(&thread, &mut hints, &memory, &mut reader.capture).expect("readable");
            target.go_on();
            let next = parse_chain(&target.json()["chain"])[0].0.clone();
            target.wait_blocked(target.pid(), READ);
            reader.codes.resolve(
                &interpreter,
                &mut reader.cache,
                &reader.capture,
                &memory,
                &mut reader.stack,
            );
            let found = &reader.chain()[0];
            assert_ne!(found.0, next, "{:?}: the name of a later function", python.version);
            match reader.stack.frames.first() {
                Some(&PythonFrame { code: stackclock_unwinder::python::CodeTable::UNKNOWN, .. }) => {
                    unknown += 1
                }
                _ => assert_eq!(found.0, name, "{:?}", python.version),
            }
            target.go_on();
        }
        println!("{:?}: 100 dead functions, {unknown} unknown, none wrong", python.version);
    }
}

/// A thread with a state in each of two interpreters.
#[test]
fn a_subinterpreters_frames_are_its_own() {
    for python in pythons() {
        let mut target = Target::start(&python, "subinterpreter.py", &[]);
        let said = target.json();
        if said.is_null() {
            println!("{:?}: no subinterpreters, NOT TESTED", python.version);
            continue;
        }
        target.wait_blocked(target.pid(), READ);
        let interpreter = target.interpreter();
        let mut reader = Reader::default();
        let mut chains: Vec<(usize, Chain)> = Vec::new();
        for thread in interpreter.threads() {
            assert_eq!(thread.native_tid, target.pid(), "{:?}", python.version);
            let mut hints = ThreadHints::default();
            reader.read(&target, &interpreter, thread, &mut hints).expect("a blocked thread can be read");
            chains.push((thread.interpreter, reader.chain()));
        }
        // The newest interpreter comes first.
        let &[(0, ref inner), (1, ref outer)] = chains.as_slice() else { panic!("{chains:#?}") };
        assert_eq!(*inner, parse_chain(&said), "{:?}", python.version);
        let outer: Vec<_> = outer.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(outer, ["outside", "<module>"], "{:?}", python.version);
        println!("{:?}: both interpreters' frames right", python.version);
    }
}

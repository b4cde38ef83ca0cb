//! Threads that come and go.

use stackclock_unwinder::python::{PythonCapture, PythonError, ThreadHints};

use crate::pythons::{Python, pythons};
use crate::reader::thread_of;
use crate::target::{READ, Target};

fn check_threads(python: &Python) {
    let mut target = Target::start(python, "threads.py", &[]);
    assert_eq!(target.json(), target.pid());
    target.wait_blocked(target.pid(), READ);
    let memory = target.memory();
    let mut interpreter = target.interpreter();
    for _ in 0..20 {
        assert!(!interpreter.threads_changed(&memory), "{:?}: nothing has changed", python.version);
        target.go_on();
        let tid = target.json().as_u64().expect("a tid") as u32;
        assert!(interpreter.threads_changed(&memory), "{:?}: a new thread", python.version);
        interpreter.refresh_threads(&memory).expect("readable");
        assert!(!interpreter.threads_changed(&memory), "{:?}: nothing more", python.version);
        let thread = thread_of(&interpreter, tid);
        assert_eq!(thread_of(&interpreter, target.pid()).native_tid, target.pid());
        target.go_on();
        assert_eq!(target.json(), 0);
        // The thread has ended. Its state is free memory, or another's; never a stack.
        let mut capture = PythonCapture::default();
        let after = interpreter.capture(&thread, &mut ThreadHints::default(), &memory, &mut capture);
        match after {
            Ok(()) => {
                assert!(capture.is_empty(), "{:?}: {} frames of no thread", python.version, capture.len())
            }
            Err(PythonError::ThreadGone(gone)) => assert_eq!(gone, thread.tstate),
            Err(_) => {}
        }
        interpreter.refresh_threads(&memory).expect("readable");
        assert!(interpreter.threads().iter().all(|thread| thread.native_tid != tid), "{:?}", python.version);
    }
    println!("{:?}: 20 threads came and went", python.version);
}

/// Threads are started as fast as can be while their list is read as fast as can be.
fn check_crowd(python: &Python) {
    let mut target = Target::start(python, "crowd.py", &[]);
    let memory = target.memory();
    assert_eq!(target.json(), "begin");
    let mut interpreter = target.interpreter();
    let done = std::thread::spawn({
        let mut target = target;
        move || (target.json(), target)
    });
    while !done.is_finished() {
        if interpreter.threads_changed(&memory) {
            // The list changes while it is read, so this may fail; what was before is then kept.
            let _ = interpreter.refresh_threads(&memory);
        }
    }
    let (tids, target) = done.join().expect("the target's output is read");
    if interpreter.threads_changed(&memory) {
        interpreter.refresh_threads(&memory).expect("the list is at rest");
    }
    let main = thread_of(&interpreter, target.pid());
    assert_eq!(
        interpreter.threads().last(),
        Some(&main),
        "{:?}: the main thread is the oldest",
        python.version
    );
    for tid in tids.as_array().expect("tids") {
        let tid = tid.as_u64().expect("a tid") as u32;
        let states = interpreter.threads().iter().filter(|thread| thread.native_tid == tid).count();
        assert_eq!(states, 1, "{:?}: thread {tid}", python.version);
    }
}

#[test]
fn threads_are_found_however_fast_they_start() {
    pythons().iter().for_each(check_crowd);
}

#[test]
fn new_threads_are_noticed_and_ended_ones_are_not_read() {
    pythons().iter().for_each(check_threads);
}

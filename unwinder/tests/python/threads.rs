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

#[test]
fn new_threads_are_noticed_and_ended_ones_are_not_read() {
    pythons().iter().for_each(check_threads);
}

//! Who holds the interpreter lock, and who waits for it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use stackclock_unwinder::Avma;

use crate::pythons::{Python, pythons};
use crate::target::{READ, Target};

const FUTEX: &str = "202";

/// The address on which a thread waits, if it is in `futex`.
fn futex_of(syscall: &str) -> Option<Avma> {
    let mut fields = syscall.split_whitespace();
    if fields.next() != Some(FUTEX) {
        return None;
    }
    u64::from_str_radix(fields.next()?.trim_start_matches("0x"), 16).ok().map(Avma)
}

fn check_fight(python: &Python) {
    let mut target = Target::start(python, "gil.py", &["fight"]);
    target.json();
    target.wait_blocked(target.pid(), READ);
    let interpreter = target.interpreter();
    let fighters: Vec<u32> = interpreter.threads().iter().map(|thread| thread.native_tid).collect();
    assert_eq!(fighters.len(), 4, "{:?}", python.version);
    let (mut waits, mut holders) = (0, Vec::new());
    let mut seen = HashSet::new();
    let deadline = Instant::now() + Duration::from_secs(30);
    // The three spin without end: every futex that they wait on is the lock's, and each comes to hold it.
    while waits < 200 || seen.len() < 3 {
        assert!(Instant::now() < deadline, "{:?}: {waits} waits, {} holders", python.version, seen.len());
        for &tid in fighters.iter().filter(|&&tid| tid != target.pid()) {
            if let Some(futex) = futex_of(&target.syscall(tid)) {
                assert!(interpreter.is_gil_wait(futex), "{:?}: {futex:?} is not in the lock", python.version);
                waits += 1;
            }
        }
        interpreter.gil_holders(&target.memory(), &mut holders).expect("readable");
        for holder in &holders {
            let thread = interpreter.threads().iter().find(|thread| thread.tstate == *holder);
            let thread = thread.expect("the holder is a thread");
            assert_ne!(thread.native_tid, target.pid(), "{:?}: the main thread sleeps", python.version);
            seen.insert(thread.native_tid);
        }
    }
    println!("{:?}: {waits} waits for the lock recognised, {} holders", python.version, seen.len());
}

fn check_quiet(python: &Python) {
    let mut target = Target::start(python, "gil.py", &["quiet"]);
    target.json();
    target.wait_blocked(target.pid(), READ);
    let interpreter = target.interpreter();
    let mut blocked = 0;
    for thread in interpreter.threads() {
        let deadline = Instant::now() + Duration::from_secs(20);
        // On its way into its wait, a thread may well wait for the lock: look when all have come to rest.
        let mut calm = 0;
        let mut last = String::new();
        while calm < 1000 {
            let now = target.syscall(thread.native_tid);
            calm = if now == last && !now.starts_with("running") { calm + 1 } else { 0 };
            last = now;
            assert!(Instant::now() < deadline, "{:?}: does not come to rest", python.version);
        }
        if let Some(futex) = futex_of(&last) {
            assert!(!interpreter.is_gil_wait(futex), "{:?}: {last}", python.version);
            blocked += 1;
        }
    }
    assert!(blocked >= 4, "{:?}: only {blocked} wait on a futex", python.version);
    let mut holders = vec![Avma(1)];
    interpreter.gil_holders(&target.memory(), &mut holders).expect("readable");
    assert_eq!(holders, [], "{:?}: nobody runs", python.version);
    println!("{:?}: {blocked} other futex waits not taken for the lock", python.version);
}

#[test]
fn threads_that_fight_for_the_lock_are_recognised() {
    pythons().iter().for_each(check_fight);
}

#[test]
fn waits_for_anything_else_are_not() {
    pythons().iter().for_each(check_quiet);
}

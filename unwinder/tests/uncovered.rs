//! Assembly without call frame information, stopped wherever it happens to be.

mod support;

use std::process::Command;

use stackclock_unwinder::native::{
    CodePlace, FoundBy, ModuleStore, NativeFrame, NativeStack, StackEnd, Unwinder,
};
use stackclock_unwinder::{Avma, FrameAddress, Memory, Truncation};
use support::{Target, captures, compile};

const CHAIN: [&str; 3] = ["inner", "outer", "main"];
/// What the sampler copies of a stack at first; the kernel's buffer is larger.
const FIRST_COPY: usize = 16 << 10;
const STOPS: usize = 400;

/// Starts of the functions of a stack, as addresses in the process, leaf first; those of uncovered code are 0.
fn starts(stack: &NativeStack) -> Vec<u64> {
    let start = |frame: &NativeFrame| match (frame.place, frame.function_start) {
        (CodePlace::Module { svma, .. }, Some(start)) => {
            frame.address.for_lookup().0.wrapping_sub(svma.0).wrapping_add(start.0)
        }
        _ => 0,
    };
    stack.frames.iter().map(start).collect()
}

/// Whether the leaf is in the assembly; the stack must be right in any case.
fn check(target: &Target, stack: &NativeStack) -> bool {
    let starts = starts(stack);
    assert_eq!(stack.end, StackEnd::Root, "{starts:x?}\n{stack:#?}");
    let chain = CHAIN.map(|name| target.address(name));
    match starts.as_slice() {
        [0, callers @ ..] => {
            assert!(callers.starts_with(&chain), "{starts:x?}, not {chain:x?}\n{stack:#?}");
            assert_eq!(stack.frames[1].found_by, FoundBy::Epilogue);
            true
        }
        // In C++; at the first instants below main's output.
        covered => {
            let announced: Vec<u64> = covered.iter().copied().filter(|start| chain.contains(start)).collect();
            let right = !announced.is_empty() && chain.ends_with(&announced);
            assert!(right, "{starts:x?}, not the end of {chain:x?}\n{stack:#?}");
            false
        }
    }
}

fn stop_at_many_instants(flags: &[&str]) {
    let program = compile("uncovered.cc", flags);
    let target = Target::start(&mut Command::new(&program.path));
    let store = ModuleStore::new();
    let (space, _) = captures::modules(&target, &store);
    let (mut unwinder, mut stack) = (Unwinder::new(), NativeStack::default());
    let (mut in_assembly, mut short) = (0, 0);
    let calls = || target.memory().read_u64(Avma(target.address("calls"))).expect("a number");
    let mut last = 0;
    for _ in 0..STOPS {
        // On a busy machine it might be stopped again before it ran.
        while calls() == last {
            std::thread::yield_now();
        }
        let mut capture = captures::capture(&target, target.pid(), 1 << 20);
        let start = FrameAddress::InstructionPointer(capture.registers.ip);
        unwinder.unwind(&space, start, &capture.registers, &capture.stack, &mut stack);
        in_assembly += usize::from(check(&target, &stack));

        last = calls();
        let own_frame = stack.frames[0].cfa.offset_from(capture.stack.start).expect("above");
        capture.stack.bytes.truncate(FIRST_COPY);
        unwinder.unwind(&space, start, &capture.registers, &capture.stack, &mut stack);
        if own_frame > FIRST_COPY as u64 {
            assert_eq!(stack.end, StackEnd::Truncated(Truncation::OutOfBytes), "{stack:#?}");
            short += 1;
        } else {
            check(&target, &stack);
        }
    }
    println!("{flags:?}: {in_assembly} of {STOPS} in the assembly, {short} of them beyond a short copy");
    assert!(in_assembly > STOPS / 2 && short > STOPS / 10, "{in_assembly}, {short} of {STOPS}");
}

#[test]
fn every_instant_in_uncovered_assembly_leads_to_the_root() {
    for flags in [&["-O2"][..], &["-O2", "-fno-omit-frame-pointer"], &["-O0"]] {
        stop_at_many_instants(flags);
    }
}

#[test]
fn an_uncovered_entry_point_is_a_root() {
    let program = compile("entry.s", &["-nostdlib", "-static"]);
    let target = Target::start(&mut Command::new(&program.path));
    let blocked = target.wait_until_blocked_in_read(target.pid()).registers;
    let (space, _) = captures::modules(&target, &ModuleStore::new());
    let (mut unwinder, mut stack) = (Unwinder::new(), NativeStack::default());
    let start = FrameAddress::InstructionPointer(blocked.ip);
    unwinder.unwind(&space, start, &blocked, &target.memory(), &mut stack);
    assert_eq!((stack.frames.len(), stack.end), (2, StackEnd::Root), "{stack:#?}");
}

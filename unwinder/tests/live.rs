//! Unwinding of live children, compared with what they print about themselves.

mod support;

use std::process::Command;

use stackclock_unwinder::native::{ModuleStore, NativeStack, StackEnd, Unwinder};
use stackclock_unwinder::{Avma, FrameAddress, Memory, Registers};
use support::{Stopped, Target, compile};

/// Starts of the functions of a stack, as addresses in the process, leaf first; unknown ones as 0.
fn function_starts(stack: &NativeStack, space_bias_of: impl Fn(Avma) -> u64) -> Vec<u64> {
    stack
        .frames
        .iter()
        .map(|frame| {
            frame.function_start.map_or(0, |start| start.0.wrapping_add(space_bias_of(frame.address.avma())))
        })
        .collect()
}

fn unwind(target: &Target, registers: &Registers, memory: &impl Memory) -> (NativeStack, Vec<u64>) {
    let store = ModuleStore::new();
    let space = target.address_space(&store);
    let mut stack = NativeStack::default();
    let start = FrameAddress::InstructionPointer(registers.ip);
    Unwinder::new().unwind(&space, start, registers, memory, &mut stack);
    let starts = function_starts(&stack, |address| match space.lookup(address) {
        stackclock_unwinder::native::CodePlace::Module { svma, .. } => address.0.wrapping_sub(svma.0),
        _ => 0,
    });
    (stack, starts)
}

/// The chain that `chain.cc` announces must be a run of the stack.
fn expected_chain(target: &Target) -> Vec<u64> {
    let address =
        |name| u64::from_str_radix(target.value(name).trim_start_matches("0x"), 16).expect("an address");
    let mut chain = vec![address("leaf")];
    chain.extend([address("deep")].repeat(7));
    chain.extend(["with_alloca", "realigned", "many_arguments", "main"].map(address));
    chain
}

fn assert_chain(stack: &NativeStack, starts: &[u64], expected: &[u64], what: &str) {
    assert!(
        starts.windows(expected.len()).any(|part| part == expected),
        "{what}: expected {expected:x?}\nin {starts:x?}\n{stack:#?}"
    );
    assert_eq!(stack.end, StackEnd::Root, "{what}: {stack:#?}");
}

const BUILDS: [&[&str]; 7] = [
    &["-O0"],
    &["-O2"],
    &["-Os"],
    &["-O2", "-fno-omit-frame-pointer"],
    &["-O2", "-fomit-frame-pointer", "-fno-plt"],
    &["-O2", "-static"],
    &["-O1", "-no-pie", "-mavx"],
];

#[test]
fn a_stopped_thread_has_the_chain_that_the_program_announces() {
    for flags in BUILDS {
        let program = compile("chain.cc", flags);
        let target = Target::start(&mut Command::new(&program.path));
        target.wait_until_blocked(target.pid());
        let stopped = Stopped::new(target.pid());
        let (stack, starts) = unwind(&target, &stopped.registers(), &target.memory());
        assert_chain(&stack, &starts, &expected_chain(&target), &format!("{flags:?}"));
    }
}

#[test]
fn a_blocked_thread_has_the_same_chain_from_pc_and_sp_alone() {
    for flags in BUILDS {
        let program = compile("chain.cc", flags);
        let target = Target::start(&mut Command::new(&program.path));
        let blocked = target.wait_until_blocked(target.pid());
        let (stack, starts) = unwind(&target, &blocked.registers, &target.memory());
        assert_chain(&stack, &starts, &expected_chain(&target), &format!("{flags:?}"));
    }
}

#[test]
fn a_running_thread_reaches_its_root_from_wherever_it_is_stopped() {
    let program = compile("spin.cc", &["-O2"]);
    let target = Target::start(&mut Command::new(&program.path));
    let store = ModuleStore::new();
    let (space, _) = support::captures::modules(&target, &store);
    let mut unwinder = Unwinder::new();
    let mut stack = NativeStack::default();
    for _ in 0..300 {
        let capture = support::captures::capture(&target, target.pid(), 1 << 20);
        let start = FrameAddress::InstructionPointer(capture.registers.ip);
        unwinder.unwind(&space, start, &capture.registers, &capture.stack, &mut stack);
        assert_eq!(stack.end, StackEnd::Root, "{:?} {stack:#?}", capture.registers);
    }
}

//! Unwinding of live children, compared with what they print about themselves.

mod support;

use std::process::Command;

use stackclock_unwinder::native::{
    CodePlace, FoundBy, ModuleStore, NativeFrame, NativeStack, StackEnd, Unwinder,
};
use stackclock_unwinder::{Avma, FrameAddress, Memory, Registers, Truncation};
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
        CodePlace::Module { svma, .. } => address.0.wrapping_sub(svma.0),
        _ => 0,
    });
    (stack, starts)
}

/// The chain that `chain.cc` announces must be a run of the stack.
fn expected_chain(target: &Target) -> Vec<u64> {
    let mut chain = vec![target.address("leaf")];
    chain.extend([target.address("deep")].repeat(7));
    chain.extend(["with_alloca", "realigned", "many_arguments", "main"].map(|name| target.address(name)));
    chain
}

fn assert_chain(stack: &NativeStack, starts: &[u64], expected: &[u64], what: &str) {
    assert!(
        starts.windows(expected.len()).any(|part| part == expected),
        "{what}: expected {expected:x?}\nin {starts:x?}\n{stack:#?}"
    );
    assert_eq!(stack.end, StackEnd::Root, "{what}: {stack:#?}");
}

const BUILDS: [&[&str]; 10] = [
    &["-O0"],
    &["-O2"],
    &["-Os"],
    &["-O2", "-fno-omit-frame-pointer"],
    &["-O2", "-fomit-frame-pointer", "-fno-plt"],
    &["-O2", "-static"],
    &["-O1", "-no-pie", "-mavx"],
    &["-O2", "-Wl,--no-eh-frame-hdr"],
    // The program's own functions in .debug_frame, the C runtime's in .eh_frame.
    &["-O2", "-fno-asynchronous-unwind-tables", "-fno-exceptions"],
    &["-O0", "-fno-asynchronous-unwind-tables", "-fno-exceptions", "-gz"],
];

#[test]
fn a_stopped_thread_has_the_chain_that_the_program_announces() {
    for flags in BUILDS {
        let program = compile("chain.cc", flags);
        let target = Target::start(&mut Command::new(&program.path));
        target.wait_until_blocked_in_read(target.pid());
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
        let blocked = target.wait_until_blocked_in_read(target.pid());
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

/// The announced functions, in this order, are a run of the stack once frames of no function are left out.
fn assert_order(target: &Target, stack: &NativeStack, starts: &[u64], names: &[&str]) {
    let expected: Vec<u64> = names.iter().map(|&name| target.address(name)).collect();
    let places: Vec<_> = expected.iter().map(|start| starts.iter().position(|one| one == start)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{names:?} {expected:x?} at {places:?}\nin {starts:x?}\n{stack:#?}"
    );
    assert_eq!(stack.end, StackEnd::Root, "{stack:#?}");
}

#[test]
fn a_signal_handler_shows_what_it_interrupted_whichever_stack_it_runs_on() {
    for flags in [&["-O0"][..], &["-O2"]] {
        let program = compile("signal.cc", flags);
        for place in ["above", "below", "same"] {
            let target = Target::start(Command::new(&program.path).arg(place));
            let tid = nix::unistd::Pid::from_raw(target.value("tid").parse().expect("a number"));
            let names = ["in_handler", "handler", "interrupted", "thread_main"];
            let blocked = target.wait_until_blocked_in_read(tid);
            let (stack, starts) = unwind(&target, &blocked.registers, &target.memory());
            assert_order(&target, &stack, &starts, &names);
            let stopped = Stopped::new(tid);
            let (stack, starts) = unwind(&target, &stopped.registers(), &target.memory());
            assert_order(&target, &stack, &starts, &names);
            // What was interrupted executes that instruction next: nothing is to be subtracted from it.
            let exact = |frame: &NativeFrame| matches!(frame.address, FrameAddress::InstructionPointer(_));
            let exact: Vec<_> = starts.iter().zip(&stack.frames).filter(|(_, frame)| exact(frame)).collect();
            assert_eq!(exact.len(), 2, "the leaf and the interrupted frame: {stack:#?}");
            assert_eq!(*exact[1].0, target.address("interrupted"));
        }
    }
}

#[test]
fn a_user_level_context_ends_at_its_root() {
    for flags in [&["-O0"][..], &["-O2"]] {
        let program = compile("context.cc", flags);
        let target = Target::start(&mut Command::new(&program.path));
        let blocked = target.wait_until_blocked_in_read(target.pid());
        let (stack, starts) = unwind(&target, &blocked.registers, &target.memory());
        assert_order(&target, &stack, &starts, &["inner", "entry"]);
        assert!(stack.frames.len() <= 5, "invented frames: {stack:#?}");
    }
}

#[test]
fn code_of_no_file_is_walked_by_its_frame_pointer_and_marked() {
    let program = compile("jit.cc", &["-O2"]);
    let target = Target::start(&mut Command::new(&program.path));
    target.wait_until_blocked_in_read(target.pid());
    let stopped = Stopped::new(target.pid());
    let (stack, starts) = unwind(&target, &stopped.registers(), &target.memory());
    assert_order(&target, &stack, &starts, &["below_jit", "main"]);
    let above: Vec<_> = stack.frames.iter().map(|frame| frame.found_by).collect();
    let heuristic = above.iter().filter(|&&by| by == FoundBy::FramePointer).count();
    assert_eq!(heuristic, 1, "only main was found through the JIT's frame: {stack:#?}");
}

#[test]
fn a_frame_of_no_fixed_size_is_learned_from_one_stopped_thread() {
    let program = compile("alloca.cc", &["-O2"]);
    let target = Target::start(&mut Command::new(&program.path));
    let blocked = target.wait_until_blocked_in_read(target.pid()).registers;
    let store = ModuleStore::new();
    let (space, memory) = (target.address_space(&store), target.memory());
    let mut unwinder = Unwinder::new();
    let mut stack = NativeStack::default();
    let start = FrameAddress::InstructionPointer(blocked.ip);
    unwinder.unwind(&space, start, &blocked, &memory, &mut stack);
    assert_eq!(stack.end, StackEnd::Truncated(Truncation::UnknownRegister), "{stack:#?}");

    let registers = Stopped::new(target.pid()).registers();
    assert!(unwinder.learn_frame_depth(&space, &registers, &memory, &mut stack));
    unwinder.unwind(&space, start, &blocked, &memory, &mut stack);
    let learned = stack.clone();
    unwinder.unwind(&space, start, &registers, &memory, &mut stack);
    assert_eq!(learned, stack);
    assert_eq!(stack.end, StackEnd::Root);
    assert!(!unwinder.learn_frame_depth(&space, &registers, &memory, &mut stack), "nothing more to learn");
}

#[test]
fn a_wrong_frame_depth_is_caught() {
    let program = compile("alloca.cc", &["-O2"]);
    let target = Target::start(&mut Command::new(&program.path));
    let blocked = target.wait_until_blocked_in_read(target.pid()).registers;
    let store = ModuleStore::new();
    let (space, memory) = (target.address_space(&store), target.memory());
    let mut stack = NativeStack::default();
    let start = FrameAddress::InstructionPointer(blocked.ip);
    Unwinder::new().unwind(&space, start, &blocked, &memory, &mut stack);
    let CodePlace::Module { module, svma } = stack.frames.last().expect("the reader").place else {
        panic!("{stack:#?}");
    };
    let right = {
        let registers = Stopped::new(target.pid()).registers();
        registers.get(Registers::RBP).expect("known").wrapping_sub(stack.frames[1].sp.0) as i64
    };
    let module = store.get(module).expect("loaded");
    // Words of the frame that are no return addresses.
    for wrong in [right - 8, right - 32, right + 8] {
        module.learn_frame_depth(svma, wrong);
        Unwinder::new().unwind(&space, start, &blocked, &memory, &mut stack);
        assert_eq!(stack.end, StackEnd::Truncated(Truncation::UnknownRegister), "{wrong}: {stack:#?}");
    }
    module.learn_frame_depth(svma, right);
    Unwinder::new().unwind(&space, start, &blocked, &memory, &mut stack);
    assert_eq!(stack.end, StackEnd::Root, "{stack:#?}");
}

#[test]
fn framehop_agrees_on_plain_stacks() {
    let program = compile("spin.cc", &["-O2"]);
    let target = Target::start(&mut Command::new(&program.path));
    let store = ModuleStore::new();
    let (space, modules) = support::captures::modules(&target, &store);
    let mut framehop = support::framehop::Framehop::new(&modules);
    let (mut unwinder, mut stack, mut theirs) = (Unwinder::new(), NativeStack::default(), Vec::new());
    let (mut equal, mut shorter) = (0, 0);
    for _ in 0..100 {
        let capture = support::captures::capture(&target, target.pid(), 1 << 20);
        let start = FrameAddress::InstructionPointer(capture.registers.ip);
        unwinder.unwind(&space, start, &capture.registers, &capture.stack, &mut stack);
        framehop.unwind(&capture, &mut theirs);
        let ours: Vec<u64> = stack.frames.iter().map(|frame| frame.address.for_lookup().0).collect();
        // framehop ends silently where its heuristics meet a zero; it must not know better than we.
        equal += usize::from(ours == theirs);
        shorter += usize::from(ours != theirs && ours.starts_with(&theirs));
    }
    assert_eq!(equal + shorter, 100, "{equal} equal, {shorter} cut short by framehop");
    assert!(equal >= 80, "{equal} equal, {shorter} cut short by framehop");
}

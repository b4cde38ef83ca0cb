//! Stored captures: a thread's registers and stack bytes as text, and the frames that they must give.
//!
//! The module is built by the recipe in its source file, not stored. A live process becomes a stored capture with
//! `STACKCLOCK_BLESS=1 cargo test -p stackclock-unwinder --test stored`.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use stackclock_unwinder::native::{AddressSpace, CodePlace, ModuleStore, NativeStack, StackEnd, Unwinder};
use stackclock_unwinder::{Avma, Capture, FrameAddress, Registers, StackBytes};
use support::{Program, Target, captures};

/// Bytes of stack to store: enough for all frames of the programs here.
const STORED_BYTES: usize = 640;

fn stored_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name).with_extension("txt")
}

fn to_text(capture: &Capture) -> String {
    let registers = &capture.registers;
    let mut text = format!("ip {:#x}\nsp {:#x}\n", registers.ip.0, registers.sp.0);
    for number in (0..16).filter(|&number| number != Registers::RSP) {
        if let Some(value) = registers.get(number) {
            writeln!(text, "register {number} {value:#x}").expect("memory");
        }
    }
    writeln!(text, "stack {:#x}", capture.stack.start.0).expect("memory");
    for bytes in capture.stack.bytes.chunks(32) {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "bytes {hex}").expect("memory");
    }
    text
}

fn from_text(text: &str) -> Capture {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("hexadecimal");
    let mut registers = Registers::new(Avma(0), Avma(0));
    let mut stack = StackBytes::default();
    for line in text.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["ip", value] => registers.ip = Avma(number(value)),
            ["sp", value] => registers.sp = Avma(number(value)),
            ["register", name, value] => registers.set(name.parse().expect("a number"), Some(number(value))),
            ["stack", start] => stack.start = Avma(number(start)),
            ["bytes", hex] => {
                let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
                stack.bytes.extend((0..hex.len()).step_by(2).map(byte));
            }
            ["frame" | "end", ..] => {}
            _ => panic!("what is {line:?}?"),
        }
    }
    Capture { registers, stack }
}

fn frames_as_text(stack: &NativeStack) -> String {
    let mut text = String::new();
    for frame in &stack.frames {
        let CodePlace::Module { svma, .. } = frame.place else { panic!("{frame:?}") };
        let start = frame.function_start.expect("all code here has call frame information").0;
        let extent = frame.cfa.0.wrapping_sub(frame.sp.0);
        writeln!(text, "frame {:#x} in {start:#x} with {extent} bytes by {:?}", svma.0, frame.found_by)
            .expect("memory");
    }
    writeln!(text, "end {:?}", stack.end).expect("memory");
    text
}

fn unwind(space: &AddressSpace, capture: &Capture) -> NativeStack {
    let mut stack = NativeStack::default();
    let start = FrameAddress::InstructionPointer(capture.registers.ip);
    Unwinder::new().unwind(space, start, &capture.registers, &capture.stack, &mut stack);
    stack
}

fn by_hand() -> Program {
    support::compile("by_hand.s", &["-nostdlib", "-static", "-no-pie"])
}

#[test]
fn rules_of_every_kind_lead_to_the_root() {
    let program = by_hand();
    let target = Target::start(&mut Command::new(&program.path));
    target.wait_until_blocked_in_read(target.pid());
    let capture = captures::capture(&target, target.pid(), STORED_BYTES);
    let (space, _) = captures::modules(&target, &ModuleStore::new());
    let stack = unwind(&space, &capture);
    assert_eq!((stack.frames.len(), stack.end), (6, StackEnd::Root), "{stack:#?}");

    let path = stored_path("by_hand");
    let bless = "STACKCLOCK_BLESS=1 stores it anew";
    if std::env::var_os("STACKCLOCK_BLESS").is_some() {
        fs::write(&path, to_text(&capture) + &frames_as_text(&stack)).expect("can write");
    }
    let stored = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}; {bless}"));
    let replayed = unwind(&space, &from_text(&stored));
    let expected: String = stored
        .lines()
        .filter(|line| line.starts_with("frame ") || line.starts_with("end "))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert_eq!(frames_as_text(&replayed), expected, "{path:?}; {bless}");
    assert_eq!(from_text(&to_text(&capture)), capture);
}

#[test]
fn registers_come_from_the_stack_and_a_short_copy_says_so() {
    let program = by_hand();
    let target = Target::start(&mut Command::new(&program.path));
    target.wait_until_blocked_in_read(target.pid());
    let mut capture = captures::capture(&target, target.pid(), STORED_BYTES);
    let (space, _) = captures::modules(&target, &ModuleStore::new());
    // `saver` has r13 on the stack, so that its value in the registers does not matter.
    capture.registers.set(13, None);
    assert_eq!(unwind(&space, &capture).end, StackEnd::Root);
    let kept = capture.registers.sp.offset_from(capture.stack.start).expect("begins below sp") + 16;
    capture.stack.bytes.truncate(usize::try_from(kept).expect("small"));
    let stack = unwind(&space, &capture);
    assert_eq!(stack.end, StackEnd::Truncated(stackclock_unwinder::Truncation::OutOfBytes), "{stack:#?}");
}

//! Memory that means harm: no content of it makes the reader panic, run on, or take more than it may.

use super::layout::tests::{Build, RUNTIME, debug_offsets, version};
use super::{
    CodeCache, CodeTable, Interpreter, Location, PythonCapture, PythonStack, PythonThread, ThreadHints,
};
use crate::{Avma, Memory, MemoryError};

/// What is at every address outside of the debug offsets.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// Noise that depends on the address.
    Noise(u64),
    /// Every word is the same.
    Word(u64),
    /// Every word is the address of another word, this many bytes further: chains without end.
    Next(u64),
    /// Mostly small numbers, NULLs and pointers near by.
    Plausible(u64),
    /// Nothing can be read.
    Unmapped,
}

struct Hostile {
    content: Content,
    debug_offsets: Vec<u8>,
}

/// No mapping is larger: it keeps the tests fast.
const LARGEST_READ: usize = 1 << 20;

impl Memory for Hostile {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        let error = MemoryError { address: address.0, length: into.len() };
        if into.len() > LARGEST_READ {
            return Err(error);
        }
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = address.0.wrapping_add(done as u64);
            let word = self.word(at & !7).ok_or(error)?.to_le_bytes();
            let from = &word[(at & 7) as usize..];
            let length = from.len().min(rest.len());
            rest[..length].copy_from_slice(&from[..length]);
            done += length;
        }
        Ok(())
    }
}

impl Hostile {
    fn word(&self, at: u64) -> Option<u64> {
        let inside = at.checked_sub(RUNTIME.0).and_then(|at| self.debug_offsets.get(at as usize..));
        match inside.and_then(<[u8]>::first_chunk) {
            Some(word) => Some(u64::from_le_bytes(*word)),
            None => self.content.word(at),
        }
    }
}

impl Content {
    fn word(self, at: u64) -> Option<u64> {
        let mixed = |seed: u64| {
            (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d)
        };
        match self {
            Content::Noise(seed) => Some(mixed(seed)),
            Content::Word(word) => Some(word),
            Content::Next(distance) => Some(at.wrapping_add(distance)),
            Content::Plausible(seed) => Some(match mixed(seed) >> 61 {
                0..=2 => RUNTIME.0 + 0x1000 + (mixed(seed) >> 7 & 0xffff8),
                3 | 4 => mixed(seed) >> 20 & 0xfff,
                5 => 0,
                _ => 0x0101_0101_0101_0101 & mixed(seed ^ 1),
            }),
            Content::Unmapped => None,
        }
    }
}

fn contents() -> Vec<Content> {
    let mut contents = vec![Content::Unmapped, Content::Next(0x18), Content::Next(0x1000), Content::Next(8)];
    contents.extend([0, 1, 8, 0x4000, RUNTIME.0 + 0x1000, u64::MAX, u64::MAX - 7].map(Content::Word));
    contents.extend((0..20).map(Content::Noise));
    contents.extend((0..60).map(Content::Plausible));
    contents
}

/// Everything that is public, on one memory.
fn exercise(memory: &Hostile, minor: u8) {
    let location = Location { version: version(minor), runtime: RUNTIME, pid: 7, gil_symbols: None };
    let Ok(mut interpreter) = Interpreter::new(location, memory) else { return };
    let mut holders = Vec::new();
    let _ = interpreter.gil_holders(memory, &mut holders);
    interpreter.is_gil_wait(Avma(u64::MAX));
    interpreter.threads_changed(memory);
    let _ = interpreter.refresh_threads(memory);
    let threads: Vec<PythonThread> = interpreter.threads().iter().take(3).copied().collect();
    read_threads(&interpreter, memory, &threads);
}

fn read_threads(interpreter: &Interpreter, memory: &Hostile, threads: &[PythonThread]) {
    let (mut codes, mut cache) = (CodeTable::default(), CodeCache::default());
    let (mut capture, mut stack) = (PythonCapture::default(), PythonStack::default());
    for thread in threads {
        let mut hints = ThreadHints::default();
        for _ in 0..2 {
            if interpreter.capture(thread, &mut hints, memory, &mut capture).is_err() {
                assert!(capture.is_empty());
            }
            codes.resolve(interpreter, &mut cache, &capture, memory, &mut stack);
            assert!(stack.frames.len() <= capture.len());
        }
    }
}

#[test]
fn no_memory_makes_the_reader_panic_or_run_on() {
    for minor in 6..=16 {
        for build in [Build::Default, Build::FreeThreaded] {
            for content in contents() {
                exercise(&Hostile { content, debug_offsets: debug_offsets(minor, build) }, minor);
            }
        }
    }
}

/// A thread state that is what it should be, so that the walk itself meets the harm.
#[test]
fn no_frame_chain_makes_the_reader_panic_or_run_on() {
    for minor in 6..=15 {
        for content in contents() {
            let memory = Hostile { content, debug_offsets: debug_offsets(minor, Build::Default) };
            let location = Location { version: version(minor), runtime: RUNTIME, pid: 7, gil_symbols: None };
            // The lists are read from nothing, the frames from the hostile memory.
            let nothing = Hostile { content: Content::Word(0), debug_offsets: memory.debug_offsets.clone() };
            let interpreter = Interpreter::new(location, &nothing).expect("an empty runtime");
            assert_eq!(interpreter.threads(), []);
            let threads: Vec<PythonThread> = (0..8)
                .map(|index| {
                    let tstate = Avma(RUNTIME.0 + 0x10000 + index * 0x1008);
                    thread_at(&interpreter, tstate, &memory)
                })
                .collect();
            read_threads(&interpreter, &memory, &threads);
        }
    }
}

/// The thread that the memory at `tstate` claims to be, so that the check of its owner passes.
fn thread_at(interpreter: &Interpreter, tstate: Avma, memory: &Hostile) -> PythonThread {
    let layout = &interpreter.layout().thread;
    let word = |at: usize| memory.read_u64(tstate.offset(at as i64)).unwrap_or(0);
    let thread_id = Avma(word(layout.thread_id));
    let native_tid = match layout.native_thread_id {
        Some(at) => word(at) as u32,
        None => interpreter.tid_place().read(thread_id, memory),
    };
    PythonThread { tstate, native_tid, thread_id, interpreter: 0 }
}

/// Memory of zeros and a few words.
#[derive(Default)]
struct Words(std::collections::HashMap<u64, u64>);

impl Memory for Words {
    fn read(&self, address: Avma, into: &mut [u8]) -> Result<(), MemoryError> {
        for (index, byte) in into.iter_mut().enumerate() {
            let at = address.0 + index as u64;
            let word = self.0.get(&(at & !7)).copied().unwrap_or(0);
            *byte = word.to_le_bytes()[(at & 7) as usize];
        }
        Ok(())
    }
}

/// In 3.11 a state made for a thread that does not run yet says that it is its maker's, here the main thread's.
#[test]
fn a_state_of_a_thread_that_does_not_run_yet_is_nobodys() {
    const INTERPRETER: u64 = 0x10_0000;
    let tstate = |number: u64| 0x20_0000 + 0x1000 * number;
    let mut memory = Words::default();
    let mut put = |at: u64, word: u64| memory.0.insert(at, word);
    put(RUNTIME.0 + 0x28, INTERPRETER);
    put(INTERPRETER + 0x10, tstate(3));
    for (number, next, thread_id, native) in
        [(3, tstate(2), 0x3000, 30), (2, tstate(1), 0x1000, 10), (1, 0, 0x1000, 10)]
    {
        put(tstate(number) + 0x8, next);
        put(tstate(number) + 0x98, thread_id);
        put(tstate(number) + 0xa0, native);
    }
    let location = Location { version: version(11), runtime: RUNTIME, pid: 10, gil_symbols: None };
    let mut interpreter = Interpreter::new(location, &memory).expect("a list of three");
    let tids = |interpreter: &Interpreter| -> Vec<u32> {
        interpreter.threads().iter().map(|thread| thread.native_tid).collect()
    };
    assert_eq!(tids(&interpreter), [30, 0, 10]);
    assert!(!interpreter.threads_changed(&memory));
    memory.0.insert(tstate(2) + 0x98, 0x2000);
    memory.0.insert(tstate(2) + 0xa0, 20);
    assert!(interpreter.threads_changed(&memory), "no list has changed, but the thread runs now");
    interpreter.refresh_threads(&memory).expect("a list of three");
    assert_eq!(tids(&interpreter), [30, 20, 10]);
    assert!(!interpreter.threads_changed(&memory));
}

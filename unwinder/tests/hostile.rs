//! Damaged files and meaningless stacks: any answer will do, except a panic or an endless loop.

mod support;

use std::fs;

use stackclock_unwinder::native::{
    AddressSpace, ContentKey, Mapped, Mapping, ModuleFile, ModuleSource, ModuleStore, NativeStack, Unwinder,
};
use stackclock_unwinder::{Avma, FrameAddress, Registers, SliceMemory};
use support::compile;

/// xorshift64*; the seed is in the failure text.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

const CODE: u64 = 0x5000_0000;
const STACK: u64 = 0x7000_0000;

/// Loads a file and unwinds nonsense in it, and says whether it could be loaded.
fn exercise(bytes: Vec<u8>, random: &mut Random) -> bool {
    let store = ModuleStore::new();
    let size = bytes.len() as u64;
    let source = ModuleSource::Bytes(bytes);
    let file = ModuleFile { path: "hostile".to_owned(), source, key: ContentKey(1, 1), debug_root: None };
    let Ok(id) = store.load(file) else { return false };
    let module = store.get(id).expect("just loaded");
    for name in [".eh_frame", ".debug_info", ".symtab"] {
        // Reading may fail; it must not do more than that.
        let _ = module.section(name);
    }
    let executable: Vec<_> = module.segments().iter().filter(|segment| segment.executable).copied().collect();
    let mappings = executable.iter().map(|segment| Mapping {
        start: Avma(CODE.wrapping_add(segment.file_offset & !4095)),
        end: Avma(CODE.wrapping_add(segment.file_offset).wrapping_add(segment.file_size)),
        file_offset: segment.file_offset & !4095,
        mapped: Mapped::Module(id),
    });
    let space = AddressSpace::new(&store, mappings);
    module.broken_cfi_entries();
    let mut unwinder = Unwinder::new();
    let mut stack = NativeStack::default();
    for _ in 0..24 {
        let words: Vec<u64> = (0..256)
            .map(|_| match random.below(3) {
                0 => CODE + random.next() % size.max(1),
                1 => STACK + random.next() % 2048,
                _ => random.next() >> random.below(64),
            })
            .collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let memory = SliceMemory { start: Avma(STACK), bytes: &bytes };
        let pc = Avma(CODE + random.next() % size.max(1));
        let mut registers = Registers::new(pc, Avma(STACK + random.next() % 512));
        for number in 0..16 {
            if number != Registers::RSP {
                registers.set(number, (random.below(2) == 0).then(|| words[random.below(words.len())]));
            }
        }
        unwinder.unwind(&space, FrameAddress::InstructionPointer(pc), &registers, &memory, &mut stack);
        assert!(!stack.frames.is_empty());
        unwinder.unwind(&space, FrameAddress::ReturnAddress(pc), &registers, &memory, &mut stack);
        unwinder.learn_frame_depth(&space, &registers, &memory, &mut stack);
    }
    true
}

/// Where the bytes of a section are in the file.
fn place_of_section(file: &[u8], name: &str) -> std::ops::Range<usize> {
    let store = ModuleStore::new();
    let source = ModuleSource::Bytes(file.to_vec());
    let whole = ModuleFile { path: "whole".to_owned(), source, key: ContentKey(1, 1), debug_root: None };
    let module = store.get(store.load(whole).expect("an ELF file")).expect("just loaded");
    let section = module.section(name).expect("readable").expect("has one").bytes;
    let start = file.windows(section.len()).position(|part| part == section).expect("not compressed");
    start..start + section.len()
}

#[test]
fn flipped_bytes_never_panic() {
    let program = compile("chain.cc", &["-O2"]);
    let original = fs::read(&program.path).expect("just built");
    let frames = place_of_section(&original, ".eh_frame");
    let mut loaded = 0;
    for seed in 1..=400 {
        let mut random = Random(seed);
        let mut bytes = original.clone();
        for _ in 0..1 + random.below(40) {
            let at = match seed % 3 {
                0 => random.below(64 + 14 * 56),
                1 => frames.start + random.below(frames.len()),
                _ => random.below(bytes.len()),
            };
            bytes[at] = random.next() as u8;
        }
        loaded += usize::from(exercise(bytes, &mut random));
    }
    assert!(loaded > 200, "most damage must get past the file header to be worth anything: {loaded}");
}

#[test]
fn truncated_files_never_panic() {
    let program = compile("chain.cc", &["-O2"]);
    let original = fs::read(&program.path).expect("just built");
    for seed in 1..=120 {
        let mut random = Random(seed);
        let length = random.below(original.len());
        exercise(original[..length].to_vec(), &mut random);
    }
}

#[test]
fn a_function_whose_information_is_broken_is_the_only_one_lost() {
    let program = compile("chain.cc", &["-O2"]);
    let original = fs::read(&program.path).expect("just built");
    let frames = place_of_section(&original, ".eh_frame");
    let broken = |bytes: Vec<u8>| {
        let store = ModuleStore::new();
        let source = ModuleSource::Bytes(bytes);
        let file = ModuleFile { path: "broken".to_owned(), source, key: ContentKey(1, 1), debug_root: None };
        let module = store.get(store.load(file).expect("an ELF file")).expect("just loaded");
        module.broken_cfi_entries()
    };
    assert_eq!(broken(original.clone()), 0);
    let mut at = frames.start;
    let mut spoiled = 0;
    while let Some(word) = original.get(at..at + 8).filter(|_| at < frames.end) {
        let length = u32::from_le_bytes(word[..4].try_into().expect("4 bytes")) as usize;
        let is_fde = word[4..] != [0; 4];
        if length > 20 && is_fde {
            let mut bytes = original.clone();
            // Header 8, pc 4, length 4, augmentation 1; then instructions. 0x3f is no instruction.
            bytes[at + 17] = 0x3f;
            assert_eq!(broken(bytes), 1, "entry at {at:#x}");
            spoiled += 1;
        }
        at += 4 + length;
    }
    assert!(spoiled >= 5, "the program has more functions than {spoiled}");
}

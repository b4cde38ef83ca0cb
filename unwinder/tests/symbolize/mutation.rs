//! Bytes that no compiler wrote: whatever a file says, symbolizing it ends, and does not panic.

use std::fs;

use stackclock_unwinder::Svma;

use crate::fixture::{OneModule, compile_library, directory, marks};

/// splitmix64, so that a failing seed can be repeated anywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Overwrites bytes where damage does most: in the headers, and anywhere.
fn damage(bytes: &mut [u8], random: &mut Random) {
    let count = 1 + random.below(24);
    for _ in 0..count {
        let at = match random.below(3) {
            0 => random.below(64),
            // Section headers are at the end.
            1 => bytes.len() - 1 - random.below(2600.min(bytes.len())),
            _ => random.below(bytes.len()),
        };
        let interesting = [0, 1, 0x7f, 0x80, 0xff];
        bytes[at] = match random.below(2) {
            0 => random.next() as u8,
            _ => interesting[random.below(interesting.len())],
        };
    }
    if random.below(4) == 0 {
        let from = random.below(bytes.len());
        let length = random.below(200).min(bytes.len() - from);
        bytes[from..from + length].iter_mut().for_each(|byte| *byte = random.next() as u8);
    }
}

#[test]
fn damaged_files_never_panic() {
    let directory = directory("mutation");
    for (kind, flags) in [(0, vec!["-g"]), (1, vec!["-g", "-gz"]), (2, vec!["-s"])] {
        let library = compile_library(&directory, &flags);
        let marked: Vec<Svma> = marks(&library).into_iter().map(|(_, address)| address).collect();
        let intact = fs::read(&library).unwrap();
        let damaged = directory.join("libdamaged.so");
        for seed in 0..400 {
            let mut bytes = intact.clone();
            let mut random = Random(seed << 8 | kind);
            damage(&mut bytes, &mut random);
            if random.below(8) == 0 {
                bytes.truncate(random.below(intact.len()));
            }
            fs::write(&damaged, &bytes).unwrap();
            let addresses = marked.iter().copied().chain((0..32).map(|_| Svma(random.next() % 0x5000)));
            for frames in OneModule::at(&damaged).symbolize(addresses) {
                assert!(!frames.is_empty(), "kind {kind}, seed {seed}");
            }
        }
    }
}

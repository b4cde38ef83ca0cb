//! The rules of the program counters seen last, so that the usual frame costs one compare.

use super::CodePlace;
use crate::arch::FrameRule;
use crate::{Avma, ModuleId, Svma};

/// Sets of two entries, 2048 entries in all; a power of two. A Python service with native frames has some hundred
/// distinct return addresses alive: so many that with one entry to a set one in ten would share its own.
const SETS: usize = 1024;
const SHIFT: u32 = u64::BITS - SETS.trailing_zeros();

/// `function_offset` of an entry without a function.
const NO_FUNCTION: u32 = u32::MAX;

/// What is known of a program counter in a module, packed to half a cache line.
#[derive(Clone, Copy, Debug)]
struct Entry {
    lookup: Avma,
    svma: Svma,
    rule: FrameRule,
    module: ModuleId,
    function_offset: u32,
}

/// The entries of one hash, newest first, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Set([Entry; 2]);

const _: () = assert!(size_of::<Set>() == 64);

/// An address that no code has.
const EMPTY: Entry = Entry {
    lookup: Avma(u64::MAX),
    svma: Svma(0),
    rule: FrameRule::Uncovered,
    module: ModuleId(u32::MAX),
    function_offset: NO_FUNCTION,
};

/// What is known of a program counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Resolved {
    pub(super) rule: FrameRule,
    pub(super) place: CodePlace,
    pub(super) function_start: Option<Svma>,
}

/// A two-way cache of one process's program counters.
#[derive(Clone, Debug)]
pub(super) struct PcCache {
    generation: u64,
    sets: Box<[Set; SETS]>,
}

impl PcCache {
    pub(super) fn new() -> Self {
        PcCache { generation: 0, sets: Box::new([Set([EMPTY; 2]); SETS]) }
    }

    /// Forgets everything if it was learned in another address space.
    pub(super) fn enter(&mut self, generation: u64) {
        if self.generation != generation {
            self.sets.fill(Set([EMPTY; 2]));
            self.generation = generation;
        }
    }

    #[inline]
    pub(super) fn get(&self, lookup: Avma) -> Option<Resolved> {
        let Set([newest, older]) = self.sets.get(set_of(lookup))?;
        let entry = match lookup {
            _ if newest.lookup == lookup => newest,
            _ if older.lookup == lookup => older,
            _ => return None,
        };
        let place = CodePlace::Module { module: entry.module, svma: entry.svma };
        let function_start = (entry.function_offset != NO_FUNCTION)
            .then(|| Svma(entry.svma.0.wrapping_sub(entry.function_offset.into())));
        Some(Resolved { rule: entry.rule, place, function_start })
    }

    /// Remembers code in modules; what lies elsewhere is rare, and quickly found.
    pub(super) fn put(&mut self, lookup: Avma, resolved: &Resolved) {
        let CodePlace::Module { module, svma } = resolved.place else { return };
        let offset = resolved.function_start.map(|start| svma.0.wrapping_sub(start.0));
        let function_offset = offset.and_then(|offset| u32::try_from(offset).ok()).unwrap_or(NO_FUNCTION);
        if let Some(Set([newest, older])) = self.sets.get_mut(set_of(lookup)) {
            *older = *newest;
            *newest = Entry { lookup, svma, rule: resolved.rule, module, function_offset };
        }
    }
}

/// Fibonacci hashing: the top bits of a product with 2^64 divided by the golden ratio.
#[inline]
fn set_of(lookup: Avma) -> usize {
    (lookup.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> SHIFT) as usize
}

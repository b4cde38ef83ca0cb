//! The rules of the program counters seen last, so that the usual frame costs one compare.

use super::CodePlace;
use crate::arch::FrameRule;
use crate::{Avma, ModuleId, Svma};

/// Entries; a power of two. A Python service with native frames has some hundred distinct return addresses alive.
const ENTRIES: usize = 2048;
const SHIFT: u32 = u64::BITS - ENTRIES.trailing_zeros();

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

const _: () = assert!(size_of::<Entry>() == 32);

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

/// A direct-mapped cache of one process's program counters.
#[derive(Clone, Debug)]
pub(super) struct PcCache {
    generation: u64,
    entries: Box<[Entry; ENTRIES]>,
}

impl PcCache {
    pub(super) fn new() -> Self {
        PcCache { generation: 0, entries: Box::new([EMPTY; ENTRIES]) }
    }

    /// Forgets everything if it was learned in another address space.
    pub(super) fn enter(&mut self, generation: u64) {
        if self.generation != generation {
            self.entries.fill(EMPTY);
            self.generation = generation;
        }
    }

    #[inline]
    pub(super) fn get(&self, lookup: Avma) -> Option<Resolved> {
        let entry = self.entries.get(slot(lookup))?;
        if entry.lookup != lookup {
            return None;
        }
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
        if let Some(entry) = self.entries.get_mut(slot(lookup)) {
            *entry = Entry { lookup, svma, rule: resolved.rule, module, function_offset };
        }
    }
}

/// Fibonacci hashing: the top bits of a product with 2^64 divided by the golden ratio.
#[inline]
fn slot(lookup: Avma) -> usize {
    (lookup.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> SHIFT) as usize
}

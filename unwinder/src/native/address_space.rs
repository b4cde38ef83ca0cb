//! What is mapped where in one process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::module::{Module, ModuleStore};
use crate::{Avma, ModuleId, Svma};

/// What an executable mapping holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapped {
    /// Part of an ELF file.
    Module(ModuleId),
    /// Code of no file, such as a JIT's.
    AnonymousExecutable,
}

/// One *executable* mapping of a process, a line with `x` of `/proc/PID/maps`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// First address.
    pub start: Avma,
    /// First address after it.
    pub end: Avma,
    /// Place of `start` in the file; zero for anonymous mappings.
    pub file_offset: u64,
    /// What it holds.
    pub mapped: Mapped,
}

/// Where an address lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CodePlace {
    /// In an ELF file.
    Module {
        /// Which.
        module: ModuleId,
        /// Where in it.
        svma: Svma,
    },
    /// In executable memory of no file.
    Anonymous,
    /// In no executable mapping that is known.
    Unmapped,
}

#[derive(Clone, Debug)]
struct Region {
    start: Avma,
    end: Avma,
    code: Option<(Arc<Module>, u64)>,
}

/// The executable mappings of a process at one time. When they change, make a new one: each has a generation of
/// its own, by which caches of what was looked up in it know that they are stale.
#[derive(Clone, Debug)]
pub struct AddressSpace {
    regions: Vec<Region>,
    generation: u64,
}

impl AddressSpace {
    /// From mappings in any order. Those that overlap an earlier one, and those of a module whose headers know no
    /// executable segment there, are left out; frames in them are truncated stacks.
    pub fn new(store: &ModuleStore, mappings: impl IntoIterator<Item = Mapping>) -> Self {
        static NEXT_GENERATION: AtomicU64 = AtomicU64::new(1);
        let mut regions: Vec<Region> = mappings
            .into_iter()
            .filter_map(|mapping| {
                let code = match mapping.mapped {
                    Mapped::AnonymousExecutable => None,
                    Mapped::Module(id) => {
                        let module = store.get(id)?;
                        let bias = module.bias(mapping.start, mapping.file_offset)?;
                        Some((module, bias))
                    }
                };
                Some(Region { start: mapping.start, end: mapping.end, code })
            })
            .collect();
        regions.sort_by_key(|region| region.start);
        let mut end = Avma(0);
        regions.retain(|region| {
            let keep = region.start >= end && region.start < region.end;
            if keep {
                end = region.end;
            }
            keep
        });
        AddressSpace { regions, generation: NEXT_GENERATION.fetch_add(1, Ordering::Relaxed) }
    }

    /// A number that no other address space of this program has, except clones of this one.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Where an address lies. For symbols and lines of a caller, give [`FrameAddress::for_lookup`](crate::FrameAddress::for_lookup).
    pub fn lookup(&self, address: Avma) -> CodePlace {
        match self.find(address) {
            None => CodePlace::Unmapped,
            Some((None, _)) => CodePlace::Anonymous,
            Some((Some(module), svma)) => CodePlace::Module { module: module.id(), svma },
        }
    }

    /// The module around an address (`None` for anonymous code) and the address in it.
    pub(crate) fn find(&self, address: Avma) -> Option<(Option<&Arc<Module>>, Svma)> {
        let after = self.regions.partition_point(|region| region.start <= address);
        let region = self.regions.get(after.checked_sub(1)?).filter(|region| address < region.end)?;
        Some(match &region.code {
            None => (None, Svma(address.0)),
            Some((module, bias)) => (Some(module), Svma(address.0.wrapping_sub(*bias))),
        })
    }
}

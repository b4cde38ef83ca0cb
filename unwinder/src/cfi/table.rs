//! The compiled table of one module.
//!
//! ```text
//!   page index        rows, sorted by pc            palette
//!   page 0 ──► 0      pc 0x1000  rule 3 ──────────► 3: Sp +8
//!   page 1 ──► 217    pc 0x1001  rule 7 ──────────► 7: Sp +16, rbp at CFA-16
//!   ...               pc 0x1004  rule 8             ...
//! ```
//!
//! A row holds from its pc to the next row's. Six bytes a row and four a 4 KiB page of code; real modules have a
//! few hundred different rules.

use super::compile;
use super::general_rule::GeneralRule;
use crate::Svma;
use crate::arch::{FrameRule, SavedRegisters};
use crate::module::Module;

const PAGE_SHIFT: u32 = 12;

/// A palette entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct PaletteEntry {
    pub(super) rule: FrameRule,
    pub(super) saved: SavedRegisters,
}

impl PaletteEntry {
    pub(super) const fn without_saved(rule: FrameRule) -> Self {
        PaletteEntry { rule, saved: SavedRegisters::NONE }
    }
}

/// The extent of one function (FDE), relative to the table's base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Function {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What the table says about an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lookup {
    /// The rule.
    pub(crate) rule: FrameRule,
    /// Where the other callee-saved registers are.
    pub(crate) saved: SavedRegisters,
    /// Start of the function around the address, if one covers it.
    pub(crate) function_start: Option<Svma>,
}

/// All rules of a module.
#[derive(Debug, Default)]
pub(crate) struct CfiTable {
    /// SVMA of relative address 0.
    pub(super) base: u64,
    pub(super) pcs: Vec<u32>,
    pub(super) rules: Vec<u16>,
    pub(super) palette: Vec<PaletteEntry>,
    pub(super) general: Vec<GeneralRule>,
    pub(super) functions: Vec<Function>,
    /// For each page from `base`: the first row whose pc lies in it or beyond.
    pub(super) pages: Vec<u32>,
    /// FDEs that could not be decoded.
    pub(crate) broken_entries: u32,
}

impl CfiTable {
    /// Compiles a module's call frame information. Never fails: a module without any has an empty table.
    pub(crate) fn of_module(module: &Module) -> Self {
        compile::compile(module)
    }

    /// The rule that holds at an address.
    pub(crate) fn lookup(&self, svma: Svma) -> Lookup {
        let uncovered =
            Lookup { rule: FrameRule::Uncovered, saved: SavedRegisters::NONE, function_start: None };
        let Some(pc) = svma.0.checked_sub(self.base).and_then(|pc| u32::try_from(pc).ok()) else {
            return uncovered;
        };
        let entry = self.row_of(pc).and_then(|row| self.palette.get(usize::from(*self.rules.get(row)?)));
        match entry {
            None => uncovered,
            Some(entry) => Lookup {
                rule: entry.rule,
                saved: entry.saved,
                function_start: self.function_of(pc).map(|function| self.svma(function.start)),
            },
        }
    }

    /// Whether a function begins exactly here.
    pub(crate) fn is_function_start(&self, svma: Svma) -> bool {
        self.function_at(svma).is_some_and(|function| self.svma(function.start) == svma)
    }

    /// Whether a function begins in `[from, to]`.
    pub(crate) fn has_function_start_between(&self, from: Svma, to: Svma) -> bool {
        let after = |svma: Svma| self.functions.partition_point(|function| self.svma(function.start) <= svma);
        self.is_function_start(from) || after(from) != after(to)
    }

    /// The end of the function that covers `svma`.
    pub(crate) fn function_end(&self, svma: Svma) -> Option<Svma> {
        self.function_at(svma).map(|function| self.svma(function.end))
    }

    /// The rule behind [`FrameRule::General`].
    pub(crate) fn general(&self, index: u32) -> Option<&GeneralRule> {
        self.general.get(index as usize)
    }

    fn svma(&self, pc: u32) -> Svma {
        Svma(self.base.wrapping_add(pc.into()))
    }

    fn function_at(&self, svma: Svma) -> Option<Function> {
        self.function_of(u32::try_from(svma.0.checked_sub(self.base)?).ok()?)
    }

    fn function_of(&self, pc: u32) -> Option<Function> {
        let after = self.functions.partition_point(|function| function.start <= pc);
        self.functions.get(after.checked_sub(1)?).copied().filter(|function| pc < function.end)
    }

    fn row_of(&self, pc: u32) -> Option<usize> {
        let page = (pc >> PAGE_SHIFT) as usize;
        let from = *self.pages.get(page)? as usize;
        let to = self.pages.get(page + 1).map_or(self.pcs.len(), |&row| row as usize);
        let within = self.pcs.get(from..to)?.partition_point(|&start| start <= pc);
        (from + within).checked_sub(1)
    }

    /// Makes the page index; to be called once, when all rows are there.
    pub(super) fn index_pages(&mut self) {
        let Some(&last) = self.pcs.last() else { return };
        let pages = (last >> PAGE_SHIFT) + 1;
        let mut row = 0;
        self.pages = (0..pages)
            .map(|page| {
                while self.pcs.get(row).is_some_and(|&pc| pc >> PAGE_SHIFT < page) {
                    row += 1;
                }
                row as u32
            })
            .collect();
    }
}

//! Function symbols of ELF files, by address.
//!
//! Stripped libraries name only their exported functions, so an address between two symbols mostly belongs to a
//! function without a name. To name it after its neighbour would be a guess that looks like a fact: a symbol
//! covers exactly the bytes that its size says.
//!
//! ```text
//!   .text  |  exported_a  |  (static, stripped)  |  exported_b  |
//!            ^^^^^^^^^^^^    lib.so+0x1234           ^^^^^^^^^^
//! ```
//!
//! Assembly functions often have no size. They reach to the next symbol, at most to the end of their section,
//! and only in `.symtab`, which lists static functions too: in a `.dynsym` "next" may be far away.

use std::cmp::Reverse;

use object::read::ReadRef;
use object::read::elf::{SectionHeader as _, Sym as _, SymbolTable as RawSymbols};
use object::{LittleEndian, SectionIndex, elf};

use super::elf_file::{Elf, string_at};
use crate::Svma;

/// How many enclosing symbols a lookup looks at. Real code nests one or two deep (an assembly label within a
/// function); a file made to hurt could nest without end.
const MAX_ENCLOSING: usize = 16;

/// The function symbols of one module, from all tables that describe it.
#[derive(Debug, Default)]
pub(super) struct SymbolTable {
    /// Sorted by start; where ranges nest, the outer one first.
    symbols: Vec<Symbol>,
    /// The string tables in which [`NameRef`]s point.
    strings: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Symbol {
    start: u64,
    end: u64,
    name: NameRef,
    /// The nearest symbol before this one that may reach beyond its start.
    enclosing: Option<u32>,
}

/// Names stay in their string tables until they are asked for: few are.
#[derive(Clone, Copy, Debug)]
struct NameRef {
    table: u32,
    offset: u32,
}

/// Collects the symbols of the files that describe one module.
#[derive(Debug, Default)]
pub(super) struct SymbolTableBuilder {
    candidates: Vec<Candidate>,
    strings: Vec<Vec<u8>>,
}

#[derive(Debug)]
struct Candidate {
    start: u64,
    /// 0 when the symbol does not say.
    size: u64,
    section_end: u64,
    rank: Rank,
    name: NameRef,
}

/// Which of several names for the same bytes is shown: the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    kind: Kind,
    binding: Binding,
    /// `malloc` rather than `__libc_malloc`.
    leading_underscores: Reverse<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    /// `STT_NOTYPE`: assembly that does not say what it is.
    Untyped,
    Function,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Binding {
    Local,
    Weak,
    Global,
}

/// Which functions a table lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Completeness {
    /// `.symtab`: static ones too.
    All,
    /// `.dynsym`: exported ones only.
    Exported,
}

impl SymbolTableBuilder {
    /// Adds the function symbols of a file.
    pub(super) fn add<'data, R: ReadRef<'data>>(&mut self, file: &Elf<'data, R>) {
        self.add_table(file, file.elf_symbol_table(), Completeness::All);
        self.add_table(file, file.elf_dynamic_symbol_table(), Completeness::Exported);
    }

    fn add_table<'data, R: ReadRef<'data>>(
        &mut self,
        file: &Elf<'data, R>,
        table: &RawSymbols<'data, elf::FileHeader64<LittleEndian>, R>,
        completeness: Completeness,
    ) {
        let strings = file
            .elf_section_table()
            .section(table.string_section())
            .and_then(|section| section.data(LittleEndian, file.data()));
        let (Ok(strings), Ok(table_index)) = (strings, u32::try_from(self.strings.len())) else { return };
        for raw in table.iter() {
            let Some(section_end) = executable_section_end(file, raw) else { continue };
            let Some(kind) = code_kind(raw) else { continue };
            let start = raw.st_value(LittleEndian);
            let size = raw.st_size(LittleEndian);
            if start >= section_end || (size == 0 && completeness == Completeness::Exported) {
                continue;
            }
            let name = NameRef { table: table_index, offset: raw.st_name(LittleEndian) };
            let Some(leading_underscores) = leading_underscores(strings, name.offset) else { continue };
            let rank =
                Rank { kind, binding: binding(raw), leading_underscores: Reverse(leading_underscores) };
            self.candidates.push(Candidate { start, size, section_end, rank, name });
        }
        self.strings.push(strings.to_vec());
    }

    /// Sorts the symbols, ends those without size, and keeps the best name of each range.
    pub(super) fn finish(mut self) -> SymbolTable {
        self.candidates.sort_unstable_by_key(|symbol| symbol.start);
        let mut ranked: Vec<(u64, u64, Rank, NameRef)> = Vec::with_capacity(self.candidates.len());
        let mut next_start = u64::MAX;
        let mut this_start = u64::MAX;
        for symbol in self.candidates.iter().rev() {
            if symbol.start != this_start {
                next_start = this_start;
                this_start = symbol.start;
            }
            let end = match symbol.size {
                0 => next_start,
                size => symbol.start.saturating_add(size),
            };
            ranked.push((symbol.start, end.min(symbol.section_end), symbol.rank, symbol.name));
        }
        ranked.sort_unstable_by_key(|&(start, end, rank, name)| {
            (start, Reverse(end), Reverse(rank), name.table, name.offset)
        });
        ranked.dedup_by_key(|&mut (start, end, ..)| (start, end));
        SymbolTable { symbols: link_enclosing(&ranked), strings: self.strings }
    }
}

impl SymbolTable {
    /// The mangled name of the function whose bytes include `address`.
    pub(super) fn name_at(&self, address: Svma) -> Option<&[u8]> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address.0);
        let mut symbol = self.symbols.get(after.checked_sub(1)?)?;
        for _ in 0..MAX_ENCLOSING {
            if address.0 < symbol.end {
                let strings = self.strings.get(symbol.name.table as usize)?;
                return string_at(strings, symbol.name.offset);
            }
            symbol = self.symbols.get(symbol.enclosing? as usize)?;
        }
        None
    }

    /// Whether there is a function with this mangled name.
    pub(super) fn defines(&self, function: &[u8]) -> bool {
        self.symbols.iter().any(|symbol| {
            let table = self.strings.get(symbol.name.table as usize);
            let text = table.and_then(|table| table.get(symbol.name.offset as usize..));
            text.and_then(|text| text.strip_prefix(function)).is_some_and(|rest| rest.first() == Some(&0))
        })
    }
}

/// The end of the section that a symbol is defined in, when that section holds code.
fn executable_section_end<'data, R: ReadRef<'data>>(
    file: &Elf<'data, R>,
    symbol: &elf::Sym64<LittleEndian>,
) -> Option<u64> {
    let index = symbol.st_shndx(LittleEndian).index()?;
    let section = file.elf_section_table().section(SectionIndex(usize::from(index))).ok()?;
    if !section.sh_flags(LittleEndian).contains(elf::SHF_EXECINSTR) {
        return None;
    }
    section.sh_addr(LittleEndian).checked_add(section.sh_size(LittleEndian))
}

fn code_kind(symbol: &elf::Sym64<LittleEndian>) -> Option<Kind> {
    match symbol.st_type() {
        elf::STT_FUNC | elf::STT_GNU_IFUNC => Some(Kind::Function),
        elf::STT_NOTYPE => Some(Kind::Untyped),
        _ => None,
    }
}

fn binding(symbol: &elf::Sym64<LittleEndian>) -> Binding {
    match symbol.st_bind() {
        elf::STB_LOCAL => Binding::Local,
        elf::STB_WEAK => Binding::Weak,
        _ => Binding::Global,
    }
}

/// Makes the sorted, distinct ranges findable by one binary search and few steps outwards.
fn link_enclosing(ranges: &[(u64, u64, Rank, NameRef)]) -> Vec<Symbol> {
    let mut symbols = Vec::with_capacity(ranges.len());
    let mut open: Vec<(u32, u64)> = Vec::new();
    for (index, &(start, end, _, name)) in (0..u32::MAX).zip(ranges) {
        while open.pop_if(|&mut (_, open_end)| open_end <= start).is_some() {}
        symbols.push(Symbol { start, end, name, enclosing: open.last().map(|&(outer, _)| outer) });
        open.push((index, end));
    }
    symbols
}

/// How many underscores the string at `offset` begins with; `None` when there is no string.
fn leading_underscores(strings: &[u8], offset: u32) -> Option<usize> {
    let string = strings.get(offset as usize..)?;
    let count = string.iter().position(|&byte| byte != b'_')?;
    (string.first() != Some(&0)).then_some(count)
}

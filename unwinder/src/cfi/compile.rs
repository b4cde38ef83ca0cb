//! From the sections of a module to its table.

use gimli::{BaseAddresses, CfaRule, LittleEndian, RegisterRule, UnwindContext};
use rustc_hash::FxHashMap;

use super::general_rule::{CfaSource, GeneralRule, RegisterSource};
use super::sections::{Bytes, CfiSections, FrameSection, fde_offsets};
use super::table::{CfiTable, Function, PaletteEntry};
use crate::arch::{self, FrameRule};
use crate::module::Module;

/// Most rows of one function that are compiled; the longest real ones have some thousands.
const MAX_ROWS_OF_FUNCTION: usize = 1 << 18;

/// A function's rows while not all functions are known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct FunctionRows {
    start: u32,
    /// Where two sections describe one function, `.eh_frame` (0) is believed: it is what the program itself runs on.
    section: u8,
    end: u32,
    first_row: usize,
    rows: usize,
}

type Cie<'a> = gimli::CommonInformationEntry<Bytes<'a>>;

struct Compiler {
    base: u64,
    /// Bytes from `base` that hold code.
    extent: u64,
    rows: Vec<(u32, u16)>,
    functions: Vec<FunctionRows>,
    palette: Palette,
    broken_entries: u32,
}

/// Gives equal rules equal indices.
struct Palette {
    entries: Vec<PaletteEntry>,
    indices: FxHashMap<PaletteEntry, u16>,
    general: Vec<GeneralRule>,
    general_indices: FxHashMap<GeneralRule, u16>,
}

/// Palette indices that are always there.
const UNCOVERED: u16 = 0;
const BROKEN: u16 = 1;

pub(super) fn compile(module: &Module) -> CfiTable {
    let executable = || module.segments().iter().filter(|segment| segment.executable);
    let base = executable().map(|segment| segment.svma.0).min().unwrap_or(0);
    let end =
        executable().map(|segment| segment.svma.0.saturating_add(segment.memory_size)).max().unwrap_or(0);
    let sections = CfiSections::read(module);
    let mut compiler = Compiler {
        base,
        extent: end.saturating_sub(base).min(u32::MAX.into()),
        rows: Vec::new(),
        functions: Vec::new(),
        palette: Palette::new(),
        broken_entries: 0,
    };
    let eh_frame = gimli::EhFrame::new(&sections.eh_frame, LittleEndian);
    compiler.add_section(&eh_frame, &sections.eh_frame, &sections.bases, 0);
    let mut debug_frame = gimli::DebugFrame::new(&sections.debug_frame, LittleEndian);
    debug_frame.set_address_size(8);
    compiler.add_section(&debug_frame, &sections.debug_frame, &sections.bases, 1);
    compiler.finish()
}

impl Compiler {
    fn add_section<'a, S: FrameSection<'a>>(
        &mut self,
        section: &S,
        bytes: &'a [u8],
        bases: &BaseAddresses,
        priority: u8,
    ) {
        let mut cies: FxHashMap<S::Offset, gimli::Result<Cie<'a>>> = FxHashMap::default();
        let mut context = UnwindContext::new();
        let mut scratch = GeneralRule::scratch();
        for offset in fde_offsets::<S>(bytes) {
            let fde = section.fde_from_offset(bases, offset.into(), |section, bases, offset| {
                cies.entry(offset).or_insert_with(|| section.cie_from_offset(bases, offset)).clone()
            });
            let Ok(fde) = fde else {
                self.broken_entries += 1;
                continue;
            };
            // Functions that the linker discarded keep an FDE at address 0 or at its tombstone.
            let Some((start, end)) = self.relative(fde.initial_address(), fde.len()) else { continue };
            let first_row = self.rows.len();
            if self.add_function(section, bases, &mut context, &fde, (start, end), &mut scratch).is_err() {
                self.broken_entries += 1;
                let pc = self.rows.get(first_row..).and_then(|rows| rows.last()).map_or(start, |row| row.0);
                self.push_row(first_row, pc, BROKEN);
            }
            let rows = self.rows.len() - first_row;
            self.functions.push(FunctionRows { start, section: priority, end, first_row, rows });
        }
    }

    /// Appends the rows of one function; on an error, those before the broken instruction have been appended.
    fn add_function<'a, S: FrameSection<'a>>(
        &mut self,
        section: &S,
        bases: &BaseAddresses,
        context: &mut UnwindContext<usize>,
        fde: &gimli::FrameDescriptionEntry<Bytes<'a>>,
        (start, end): (u32, u32),
        scratch: &mut GeneralRule,
    ) -> gimli::Result<()> {
        let first_row = self.rows.len();
        scratch.signal_frame = fde.is_signal_trampoline();
        let mut table = fde.rows(section, bases, context)?;
        while let Some(row) = table.next_row()? {
            if self.rows.len() - first_row >= MAX_ROWS_OF_FUNCTION {
                return Err(gimli::Error::TooManyRegisterRules);
            }
            let pc = row.start_address().saturating_sub(self.base);
            let pc = u32::try_from(pc).unwrap_or(end).clamp(start, end);
            fill(scratch, row, section)?;
            let rule = self.palette.intern(scratch);
            self.push_row(first_row, pc, rule);
        }
        Ok(())
    }

    /// A function's extent relative to `base`, if it lies in executable segments.
    fn relative(&self, start: u64, length: u64) -> Option<(u32, u32)> {
        let start = start.checked_sub(self.base).filter(|&start| start < self.extent)?;
        let end = start.checked_add(length)?.min(self.extent);
        (end > start).then_some((u32::try_from(start).ok()?, u32::try_from(end).ok()?))
    }

    /// Appends a row to the function that began at `first_row`; one at the pc of the last row replaces it, and
    /// one with the rule of the last row says nothing new.
    fn push_row(&mut self, first_row: usize, pc: u32, rule: u16) {
        if self.rows.len() > first_row
            && let Some(last) = self.rows.last_mut()
        {
            if last.0 >= pc {
                last.1 = rule;
                return;
            }
            if last.1 == rule {
                return;
            }
        }
        self.rows.push((pc, rule));
    }

    /// Sorts the functions and lays their rows out, each address once, with holes marked.
    fn finish(mut self) -> CfiTable {
        self.functions.sort_unstable();
        let mut table = CfiTable {
            base: self.base,
            palette: self.palette.entries,
            general: self.palette.general,
            broken_entries: self.broken_entries,
            ..CfiTable::default()
        };
        table.pcs.reserve_exact(self.rows.len() + self.functions.len() / 8);
        table.rules.reserve_exact(self.rows.len() + self.functions.len() / 8);
        let mut covered = 0;
        for function in &self.functions {
            let start = function.start.max(covered);
            if start >= function.end {
                continue;
            }
            if start > covered {
                table.push(covered, UNCOVERED);
            }
            table.functions.push(Function { start, end: function.end });
            let rows = function.first_row..function.first_row + function.rows;
            for &(pc, rule) in self.rows.get(rows).unwrap_or_default() {
                if pc < function.end {
                    table.push(pc.max(start), rule);
                }
            }
            covered = function.end;
        }
        table.push(covered, UNCOVERED);
        table.index_pages();
        table
    }
}

impl CfiTable {
    /// Appends a row; one at the pc of the last row replaces it, one with its rule is not needed.
    fn push(&mut self, pc: u32, rule: u16) {
        match (self.pcs.last(), self.rules.last_mut()) {
            (Some(&last), Some(last_rule)) if last >= pc => *last_rule = rule,
            (_, Some(last_rule)) if *last_rule == rule => {}
            _ => {
                self.pcs.push(pc);
                self.rules.push(rule);
            }
        }
    }
}

impl Palette {
    fn new() -> Self {
        let mut palette = Palette {
            entries: Vec::new(),
            indices: FxHashMap::default(),
            general: Vec::new(),
            general_indices: FxHashMap::default(),
        };
        palette.add(PaletteEntry::without_saved(FrameRule::Uncovered));
        palette.add(PaletteEntry::without_saved(FrameRule::Broken));
        palette
    }

    /// The index of a rule; a file with more different rules than indices, which none has that a compiler made,
    /// has the rest of them broken.
    fn intern(&mut self, row: &GeneralRule) -> u16 {
        if let Some((rule, saved)) = arch::classify(row) {
            let entry = PaletteEntry { rule, saved };
            return match self.indices.get(&entry) {
                Some(&index) => index,
                None => self.add(entry),
            };
        }
        if let Some(&index) = self.general_indices.get(row) {
            return index;
        }
        let rule = FrameRule::General { index: self.general.len() as u32 };
        let index = self.add(PaletteEntry::without_saved(rule));
        if index != BROKEN {
            self.general.push(row.clone());
            self.general_indices.insert(row.clone(), index);
        }
        index
    }

    fn add(&mut self, entry: PaletteEntry) -> u16 {
        let Ok(index) = u16::try_from(self.entries.len()) else { return BROKEN };
        self.entries.push(entry);
        self.indices.insert(entry, index);
        index
    }
}

/// Copies a row of gimli's into `rule`, except for `signal_frame`.
fn fill<'a, S: FrameSection<'a>>(
    rule: &mut GeneralRule,
    row: &gimli::UnwindTableRow<usize>,
    section: &S,
) -> gimli::Result<()> {
    let bytes = |expression: &gimli::UnwindExpression<usize>| {
        expression.get(section).map(|expression| Box::from(expression.0.slice()))
    };
    rule.cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            CfaSource::Register { register: register.0, offset: *offset }
        }
        CfaRule::Expression(expression) => CfaSource::Expression(bytes(expression)?),
    };
    rule.registers.clear();
    for (register, source) in row.registers() {
        let source = match source {
            RegisterRule::SameValue => RegisterSource::Unchanged,
            RegisterRule::Offset(offset) => RegisterSource::AtCfa(*offset),
            RegisterRule::ValOffset(offset) => RegisterSource::IsCfa(*offset),
            RegisterRule::Register(other) => RegisterSource::Register(other.0),
            RegisterRule::Expression(expression) => RegisterSource::AtExpression(bytes(expression)?),
            RegisterRule::ValExpression(expression) => RegisterSource::IsExpression(bytes(expression)?),
            RegisterRule::Constant(value) => RegisterSource::Constant(*value),
            _ => RegisterSource::Undefined,
        };
        rule.registers.push((register.0, source));
    }
    Ok(())
}

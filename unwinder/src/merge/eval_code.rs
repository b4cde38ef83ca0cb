//! Which native code is the interpreter's loop.
//!
//! Not told by its name: in stripped builds most of the loop is in a part without a symbol. Code is the loop when
//! an anchor of Python frames was found in one of its frames. Versions that have no such anchor (up to 3.9)
//! export the symbol, and their compilers leave the function whole.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::native::{CodePlace, Module, NativeFrame};
use crate::{Avma, ModuleId, Svma};

/// The code of the interpreter's loop, in all modules of a recording that have one.
#[derive(Clone, Debug, Default)]
pub struct EvalCode {
    functions: FxHashSet<(ModuleId, Svma)>,
    learned: FxHashMap<ModuleId, LoopFrame>,
}

/// How the frames of a module's loop lie on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoopFrame {
    pub function_start: Svma,
    /// From the anchor up to the frame's CFA: the same in all frames of one build.
    pub cfa_from_anchor: i64,
}

/// The loop since 3.6; a part of it that the compiler has split off has a suffix (`.cold`).
const LOOP: &[u8] = b"_PyEval_EvalFrameDefault";
const SYMBOL_SIZE: usize = 24;

impl EvalCode {
    /// Takes note of the loop that a module exports. Needed up to 3.9; later versions need no symbol. Each call
    /// reads the module's symbols: call it once per module that is an interpreter.
    pub fn add_interpreter(&mut self, module: &Module) {
        for (symbols, names) in [(".dynsym", ".dynstr"), (".symtab", ".strtab")] {
            let section = |name| module.section(name).ok().flatten();
            let Some((symbols, names)) = section(symbols).zip(section(names)) else { continue };
            let found =
                symbols.bytes.chunks_exact(SYMBOL_SIZE).filter_map(|symbol| loop_at(symbol, &names.bytes));
            self.functions.extend(found.map(|start| (module.id(), start)));
        }
    }

    /// Whether a native frame is one of the loop's.
    pub(crate) fn has(&self, frame: &NativeFrame) -> bool {
        key(frame).is_some_and(|key| self.functions.contains(&key))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Learns from a frame in which the anchor at `anchor` was found.
    pub(crate) fn learn(&mut self, frame: &NativeFrame, anchor: Avma) {
        let Some((module, function_start)) = key(frame) else { return };
        self.functions.insert((module, function_start));
        let cfa_from_anchor = frame.cfa.0.wrapping_sub(anchor.0) as i64;
        self.learned.entry(module).or_insert(LoopFrame { function_start, cfa_from_anchor });
    }

    /// What was learned, where it is all the same.
    pub(crate) fn only_loop(&self) -> Option<(ModuleId, LoopFrame)> {
        match self.learned.len() {
            1 => self.learned.iter().next().map(|(&module, &frame)| (module, frame)),
            _ => None,
        }
    }
}

fn key(frame: &NativeFrame) -> Option<(ModuleId, Svma)> {
    match (frame.place, frame.function_start) {
        (CodePlace::Module { module, .. }, Some(start)) => Some((module, start)),
        _ => None,
    }
}

/// The value of an ELF symbol (`Elf64_Sym`: name, info, other, section, value, size) if it is the loop's.
fn loop_at(symbol: &[u8], names: &[u8]) -> Option<Svma> {
    let name = u32::from_le_bytes(*symbol.first_chunk()?) as usize;
    let value = u64::from_le_bytes(*symbol.get(8..)?.first_chunk()?);
    let rest = names.get(name..)?.strip_prefix(LOOP)?;
    (value != 0 && matches!(rest.first(), Some(0 | b'.'))).then_some(Svma(value))
}

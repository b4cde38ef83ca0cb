//! Code objects, decoded once and found again by identity; and the frames that refer to them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::capture::{CapturedFrame, Instruction};
use super::identity::read_identity;
use super::layout::Layout;
use super::lines::LineTable;
use super::snapshot::{Snapshot, field};
use super::text::{is_code_type, read_bytes, read_str};
use super::{CodeIdentity, Interpreter, PythonCapture, PythonError, PythonRun};
use crate::symbolize::{PythonCodeName, PythonCodes};
use crate::{Avma, Memory, PythonCodeId};

/// A code object: a function, a class body, a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PythonCode {
    /// `co_qualname` where the version has it (3.11 on), else `co_name`.
    pub name: Arc<str>,
    /// `co_filename`.
    pub file: Arc<str>,
    /// `co_firstlineno`.
    pub first_line: u32,
    lines: LineTable,
    hidden: bool,
}

/// A Python frame: which code, and which line of it is executing; 0 when that has none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PythonFrame {
    /// The code object, or [`CodeTable::UNKNOWN`].
    pub code: PythonCodeId,
    /// The line now executing; 0 when the bytecode there belongs to no line.
    pub line: u32,
}

/// The Python frames of one thread, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonStack {
    /// Without those that the interpreter itself hides.
    pub frames: Vec<PythonFrame>,
    /// How the frames are spread over C frames, innermost first; a run may be left without any frame.
    pub runs: Vec<PythonRun>,
    /// Frames whose code object was gone before it could be read.
    pub unknown: u32,
    /// The outer frames are missing: more than we are ready to read.
    pub truncated: bool,
}

impl PythonStack {
    /// Empties the stack, keeping its memory.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.runs.clear();
        self.unknown = 0;
        self.truncated = false;
    }
}

/// The code objects that a recording has met, of all processes. Ids stay valid while it lives.
#[derive(Debug)]
pub struct CodeTable {
    codes: Vec<PythonCode>,
    snapshot: Snapshot,
    resolved: Vec<PythonCodeId>,
}

/// Which code object of a process is which in the [`CodeTable`]; keep one per [`Interpreter`].
#[derive(Debug, Default)]
pub struct CodeCache {
    known: FxHashMap<CodeIdentity, PythonCodeId>,
    /// The type object `code`, once met.
    code_type: Option<Avma>,
}

impl Default for CodeTable {
    fn default() -> Self {
        let unknown = PythonCode {
            name: "[unknown Python function]".into(),
            file: "".into(),
            first_line: 0,
            lines: LineTable::default(),
            hidden: false,
        };
        CodeTable { codes: vec![unknown], snapshot: Snapshot::default(), resolved: Vec::new() }
    }
}

impl CodeTable {
    /// Stands for each code object that was gone, or was another one, when its names were read.
    pub const UNKNOWN: PythonCodeId = PythonCodeId(0);

    /// A code object by id; an id of another table may give `None`.
    pub fn code(&self, id: PythonCodeId) -> Option<&PythonCode> {
        self.codes.get(id.0 as usize)
    }

    /// Turns captured frames into code objects and lines. Code objects met for the first time are read from
    /// `memory`, after the capture: one that has changed since becomes [`CodeTable::UNKNOWN`], never a wrong name.
    /// `interpreter` and `cache` are those of the captured process.
    pub fn resolve(
        &mut self,
        interpreter: &Interpreter,
        cache: &mut CodeCache,
        capture: &PythonCapture,
        memory: &impl Memory,
        out: &mut PythonStack,
    ) {
        out.clear();
        out.truncated = capture.truncated;
        let layout = interpreter.layout();
        let mut resolved = std::mem::take(&mut self.resolved);
        resolved.clear();
        resolved.extend(capture.codes.iter().map(|identity| self.id(identity, layout, cache, memory)));
        let mut frames = capture.frames.iter();
        for run in &capture.runs {
            let before = out.frames.len();
            for frame in frames.by_ref().take(run.frames as usize) {
                let index = frame.code as usize;
                let Some((&id, identity)) = resolved.get(index).zip(capture.codes.get(index)) else {
                    continue;
                };
                self.push_frame(frame, id, identity, layout, memory, out);
            }
            out.runs.push(PythonRun { anchor: run.anchor, frames: (out.frames.len() - before) as u32 });
        }
        self.resolved = resolved;
    }

    fn push_frame(
        &self,
        frame: &CapturedFrame,
        id: PythonCodeId,
        identity: &CodeIdentity,
        layout: &Layout,
        memory: &impl Memory,
        out: &mut PythonStack,
    ) {
        let Some(code) = self.code(id) else { return };
        if id == CodeTable::UNKNOWN {
            out.unknown += 1;
            out.frames.push(PythonFrame { code: id, line: 0 });
        } else if !code.hidden {
            let line = match bytecode_offset(frame.instruction, identity, layout, memory) {
                Some(offset) => code.lines.line(offset),
                None => Some(code.first_line),
            };
            out.frames.push(PythonFrame { code: id, line: line.unwrap_or(0) });
        }
    }

    fn id(
        &mut self,
        identity: &CodeIdentity,
        layout: &Layout,
        cache: &mut CodeCache,
        memory: &impl Memory,
    ) -> PythonCodeId {
        if let Some(&id) = cache.known.get(identity) {
            return id;
        }
        // What cannot be read now is not remembered: the same identity may be readable at the next sample.
        let Ok(code) = self.read_code(identity, layout, cache, memory) else { return CodeTable::UNKNOWN };
        let Ok(id) = u32::try_from(self.codes.len()).map(PythonCodeId) else { return CodeTable::UNKNOWN };
        self.codes.push(code);
        cache.known.insert(*identity, id);
        id
    }

    fn read_code(
        &mut self,
        identity: &CodeIdentity,
        layout: &Layout,
        cache: &mut CodeCache,
        memory: &impl Memory,
    ) -> Result<PythonCode, PythonError> {
        let not_code = PythonError::BadPointer { what: "a code object", address: identity.address };
        if cache.code_type != Some(identity.ob_type) {
            if !is_code_type(identity.ob_type, &layout.text, memory) {
                return Err(not_code);
            }
            cache.code_type = Some(identity.ob_type);
        }
        let fields = &layout.code;
        let pointer = |at| identity.pointer(fields, at);
        let name = read_str(pointer(fields.qualname.unwrap_or(fields.name)), &layout.text, memory)?;
        let file = read_str(pointer(fields.filename), &layout.text, memory)?;
        let table = read_bytes(pointer(fields.linetable), &layout.text, memory)?;
        // Freed memory mostly keeps its content, but not its first words: the type is among what is compared.
        if read_identity(identity.address, layout, &mut self.snapshot, memory)? != *identity {
            return Err(not_code);
        }
        let first_line = identity.first_line(fields);
        let lines = LineTable::decode(fields.line_format, &table, first_line);
        let hidden = is_hidden(&name, &file);
        Ok(PythonCode { name: name.into(), file: file.into(), first_line, lines, hidden })
    }
}

impl PythonCodes for CodeTable {
    fn code_name(&self, code: PythonCodeId) -> Option<PythonCodeName> {
        let code = self.code(code)?;
        let file = (!code.file.is_empty()).then(|| code.file.clone());
        Some(PythonCodeName { name: code.name.clone(), file })
    }
}

/// Frames that are the interpreter's own: from 3.13 on the one below an inlined `__init__`, and the trampoline of 3.12.
fn is_hidden(name: &str, file: &str) -> bool {
    matches!((name, file), ("__init__", "__init__") | ("<interpreter trampoline>", "<shim>"))
}

/// Offset in bytes of the instruction; `None` before the first one.
fn bytecode_offset(
    instruction: Instruction,
    identity: &CodeIdentity,
    layout: &Layout,
    memory: &impl Memory,
) -> Option<u32> {
    match instruction {
        Instruction::Offset(offset) => u32::try_from(offset).ok(),
        Instruction::Pointer { at, tlbc_index } => {
            let base = match identity.tlbc {
                Avma(0) => field(identity.address, layout.code.code_adaptive),
                // `_PyCodeArray`: its size, then one pointer per copy.
                copies => Avma(memory.read_u64(field(copies, 8 + 8 * tlbc_index as usize)).ok()?),
            };
            u32::try_from(at.offset_from(base)?).ok()
        }
    }
}

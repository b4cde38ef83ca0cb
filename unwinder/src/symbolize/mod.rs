//! Names for the numbers that were kept while recording, looked up only when output is made.
//!
//! ```text
//!   RawFrame::Native ──► ModuleSymbols ──► DWARF: function + inlined functions, file:line   (debug_info)
//!            (per module,  read when          of the file, or of a separate one              (separate_files)
//!             first hit)                 └► else ELF symbol whose bytes include it           (symbol_table)
//!                                        └► else the stub's target, `memcpy@plt`             (plt)
//!                                        └► else `libc.so.6+0x1234`
//!   RawFrame::Python ──► PythonCodes         RawFrame::Anonymous ──► PerfMap, else `0x7f.. [anon]`
//!   RawFrame::Kernel ──► KernelSymbols       RawFrame::Truncated ──► `[truncated: reason]`
//! ```
//!
//! Nothing in a target's files can make this fail or panic: what cannot be read names nothing.

mod debug_info;
mod demangle;
mod elf_file;
mod kernel_symbols;
mod mini_debug_info;
mod module_symbols;
mod perf_map;
mod plt;
mod scopes;
mod separate_files;
mod symbol_table;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use stackclock_collapse::{Frame, FrameKind};

pub use kernel_symbols::KernelSymbols;
pub use module_symbols::ModuleFile;
pub use perf_map::PerfMap;

use crate::python::is_plumbing;
use crate::{Avma, ModuleId, PythonCodeId, RawFrame, Svma};
use module_symbols::{ModuleRole, ModuleSymbols};

/// The recording's modules, as far as naming their code needs them.
pub trait ModuleFiles {
    /// The file behind a module; asked once, when the first frame in it is symbolized.
    fn module_file(&self, module: ModuleId) -> Option<ModuleFile>;
}

/// A Python function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PythonCodeName {
    /// Qualified where the Python version records it, as `Trainer.step`.
    pub name: Arc<str>,
    /// The source file as the code object names it, where it names one.
    pub file: Option<Arc<str>>,
}

/// The recording's decoded code objects.
pub trait PythonCodes {
    /// What a code object calls itself.
    fn code_name(&self, code: PythonCodeId) -> Option<PythonCodeName>;
}

/// What becomes of the interpreter's own native frames (`_PyEval_EvalFrameDefault` and the calls around it),
/// which a merged stack replaces by the Python frames that they execute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum InterpreterFrames {
    /// Left out.
    #[default]
    Hide,
    /// Shown like other native frames.
    Show,
}

/// Where the names are that a frame may need.
#[derive(Clone, Copy)]
pub struct NameSources<'a> {
    /// For native frames.
    pub modules: &'a dyn ModuleFiles,
    /// For Python frames.
    pub codes: &'a dyn PythonCodes,
    /// For frames in memory without a file; that of the process from which the frame is.
    pub perf_map: Option<&'a PerfMap>,
}

/// Turns [`RawFrame`]s into [`Frame`]s, each distinct one once.
#[derive(Debug, Default)]
pub struct Symbolizer {
    interpreter_frames: InterpreterFrames,
    kernel: KernelSymbols,
    modules: FxHashMap<ModuleId, Option<ModuleSymbols>>,
    known: FxHashMap<RawFrame, Arc<[Frame]>>,
}

impl Symbolizer {
    /// A symbolizer for one recording, of one or more processes.
    pub fn new(interpreter_frames: InterpreterFrames, kernel: KernelSymbols) -> Self {
        Symbolizer { interpreter_frames, kernel, ..Symbolizer::default() }
    }

    /// The frames that a raw frame stands for, root to leaf: a native address gives the function that has the
    /// code, then the functions inlined into it; a hidden frame gives none.
    pub fn symbolize(&mut self, frame: RawFrame, names: NameSources<'_>) -> Arc<[Frame]> {
        if let RawFrame::Anonymous { lookup } = frame {
            // The same address is other code in another process, so these are not kept.
            return Arc::from([anonymous(lookup, names.perf_map)]);
        }
        if let Some(frames) = self.known.get(&frame) {
            return frames.clone();
        }
        let frames: Arc<[Frame]> = self.look_up(frame, names).into();
        self.known.insert(frame, frames.clone());
        frames
    }

    fn look_up(&mut self, frame: RawFrame, names: NameSources<'_>) -> Vec<Frame> {
        match frame {
            RawFrame::Native { module, lookup } => self.native(module, lookup, names.modules),
            RawFrame::Anonymous { lookup } => vec![anonymous(lookup, names.perf_map)],
            RawFrame::Python { code, line } => vec![python(names.codes.code_name(code), line)],
            RawFrame::Kernel { address } => {
                let name =
                    self.kernel.name_at(address).map_or_else(|| format!("{address:#x}"), str::to_owned);
                vec![bare(FrameKind::Kernel, name)]
            }
            RawFrame::Truncated(why) => {
                vec![Frame::remark(FrameKind::Error, format!("[truncated: {}]", why.reason()))]
            }
            RawFrame::Gap(why) => {
                vec![Frame::remark(FrameKind::Error, format!("[gap: {}]", why.reason()))]
            }
            RawFrame::Failed(why) => {
                vec![Frame::remark(FrameKind::Error, format!("[failed: {}]", why.reason()))]
            }
            RawFrame::Incomplete(why) => {
                vec![Frame::remark(FrameKind::Error, format!("[incomplete: {}]", why.reason()))]
            }
        }
    }

    fn native(&mut self, module: ModuleId, lookup: Svma, modules: &dyn ModuleFiles) -> Vec<Frame> {
        let symbols = self
            .modules
            .entry(module)
            .or_insert_with(|| modules.module_file(module).map(ModuleSymbols::load));
        let Some(symbols) = symbols else {
            return vec![bare(FrameKind::Native, format!("[unknown module]+{:#x}", lookup.0))];
        };
        let mut frames = symbols.frames_at(lookup);
        if (self.interpreter_frames, symbols.role()) == (InterpreterFrames::Hide, ModuleRole::Interpreter) {
            frames.retain(|frame| !is_plumbing(&frame.name));
        }
        frames
    }
}

fn python(code: Option<PythonCodeName>, line: u32) -> Frame {
    let Some(PythonCodeName { name, file }) = code else {
        return bare(FrameKind::Python, "[unknown code]".to_owned());
    };
    let line = (line != 0).then_some(line);
    Frame { name, file, line, module: None, kind: FrameKind::Python }
}

fn anonymous(address: Avma, perf_map: Option<&PerfMap>) -> Frame {
    let name = perf_map.and_then(|map| map.name_at(address));
    bare(FrameKind::Native, name.map_or_else(|| format!("{:#x} [anon]", address.0), str::to_owned))
}

/// A frame of which only the name is known.
fn bare(kind: FrameKind, name: String) -> Frame {
    Frame { name: name.into(), file: None, line: None, module: None, kind }
}

//! Everything that names the code of one module.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::read::ReadRef;
use stackclock_collapse::{Frame, FrameKind};

use super::debug_info::{DebugFrame, DebugInfo};
use super::demangle::{DemangledNames, demangle, is_mangled};
use super::elf_file::{self, Elf, FileBytes};
use super::mini_debug_info;
use super::plt::PltStubs;
use super::separate_files::{self, SearchPlace};
use super::symbol_table::{SymbolTable, SymbolTableBuilder};
use crate::Svma;
use crate::native::ModuleSource;

/// What the symbolizer needs to know of a module.
#[derive(Debug)]
pub struct ModuleFile {
    /// The mapped file's path as the target sees it.
    pub path: Arc<str>,
    /// What is in that file; without it frames are `module+0x1234`.
    pub content: Option<ModuleSource>,
    /// The target's root directory (`/proc/PID/root`), where separate debug files are looked for before `/`.
    pub target_root: PathBuf,
}

/// The names of one module's code, from debug information, symbol tables and procedure linkage.
#[derive(Debug, Default)]
pub(super) struct ModuleSymbols {
    path: Arc<str>,
    debug_info: Option<DebugInfo>,
    symbols: SymbolTable,
    plt: PltStubs,
    role: ModuleRole,
    demangled: DemangledNames,
}

/// What kind of program a module is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ModuleRole {
    /// It is or contains a CPython interpreter: an executable, `libpython`, or a program that embeds it.
    Interpreter,
    #[default]
    Other,
}

/// Every CPython exports it, stripped or not: it is how a program starts one, and part of the stable ABI.
const INTERPRETER_FUNCTION: &[u8] = b"Py_Initialize";

impl ModuleSymbols {
    /// Reads what there is. A file that cannot be read or understood names nothing.
    pub(super) fn load(module: ModuleFile) -> Self {
        let bytes = module.content.map(elf_file::file_bytes);
        match bytes.as_ref().and_then(|bytes| Elf::parse(bytes).ok()) {
            Some(elf) => ModuleSymbols::of_elf(module.path, &module.target_root, &elf),
            None => ModuleSymbols { path: module.path, ..ModuleSymbols::default() },
        }
    }

    fn of_elf<'data, R: ReadRef<'data>>(path: Arc<str>, target_root: &Path, elf: &Elf<'data, R>) -> Self {
        let module_path = Path::new(path.trim_end_matches(" (deleted)"));
        let place = SearchPlace { target_root, module_path };
        let mut symbols = SymbolTableBuilder::default();
        symbols.add(elf);
        if let Some(bytes) = mini_debug_info::read(elf)
            && let Ok(mini) = Elf::parse(&*bytes)
        {
            symbols.add(&mini);
        }
        let debug_info = if elf_file::has_debug_info(elf) {
            load_debug_info(elf, place)
        } else {
            let separate = separate_files::find_debug_file(elf, place);
            separate.and_then(|bytes| {
                let debug = Elf::parse(&bytes).ok()?;
                symbols.add(&debug);
                load_debug_info(&debug, place)
            })
        };
        let symbols = symbols.finish();
        let role = match symbols.defines(INTERPRETER_FUNCTION) {
            true => ModuleRole::Interpreter,
            false => ModuleRole::Other,
        };
        let demangled = DemangledNames::default();
        ModuleSymbols { debug_info, symbols, plt: PltStubs::read(elf), role, demangled, path }
    }

    /// What kind of program the module is.
    pub(super) fn role(&self) -> ModuleRole {
        self.role
    }

    /// The frames at an address, outermost first; at least one.
    pub(super) fn frames_at(&mut self, address: Svma) -> Vec<Frame> {
        let mut found = self.debug_info.as_mut().map(|info| info.frames_at(address)).unwrap_or_default();
        if found.is_empty() {
            found.push(DebugFrame::default());
        }
        let mut kind = FrameKind::Native;
        let mut frames = Vec::with_capacity(found.len());
        for frame in found {
            let name = match (kind, frame.name) {
                (FrameKind::Native, name) => self.outermost_name(address, name.as_deref()),
                (_, Some(name)) => self.demangled.of(&name),
                (_, None) => "[inlined]".into(),
            };
            let (file, module) = (frame.file.map(Arc::from), Some(self.path.clone()));
            frames.push(Frame { name, file, line: frame.line, module, kind });
            kind = FrameKind::Inlined;
        }
        frames
    }

    /// The name of the function that has the code at `address`.
    ///
    /// Of a function with internal linkage GCC's debug information has only the bare name; the linker's symbol
    /// has its namespaces and classes too.
    fn outermost_name(&mut self, address: Svma, in_debug_info: Option<&str>) -> Arc<str> {
        let symbol = self.symbols.name_at(address).map(String::from_utf8_lossy);
        match (in_debug_info, symbol) {
            (Some(name), Some(symbol)) if is_mangled(&symbol) && !is_mangled(name) => {
                self.demangled.of(&symbol)
            }
            (Some(name), _) => self.demangled.of(name),
            (None, Some(symbol)) => self.demangled.of(&symbol),
            (None, None) => match self.plt.name_at(address) {
                Some(function) => format!("{}@plt", demangle(&String::from_utf8_lossy(function))).into(),
                None => self.unnamed(address).into(),
            },
        }
    }

    /// `libc.so.6+0x1234`: what can honestly be said of code without a name.
    fn unnamed(&self, address: Svma) -> String {
        let file_name = self.path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&self.path);
        format!("{file_name}+{:#x}", address.0)
    }
}

fn load_debug_info<'data, R: ReadRef<'data>>(
    elf: &Elf<'data, R>,
    place: SearchPlace<'_>,
) -> Option<DebugInfo> {
    let supplementary: Option<FileBytes> = separate_files::find_supplementary_file(elf, place);
    let supplementary = supplementary.as_ref().and_then(|bytes| Elf::parse(bytes).ok());
    DebugInfo::load(elf, supplementary.as_ref())
}

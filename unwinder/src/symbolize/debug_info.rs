//! Functions, inlined functions and lines from DWARF.

use std::sync::Arc;

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, LittleEndian, Reader as _, SectionId};
use object::read::ReadRef;

use super::demangle::is_mangled;
use super::elf_file::{self, Elf};
use super::scopes::Scopes;
use crate::Svma;

pub(super) type Section = EndianArcSlice<LittleEndian>;

/// More inlined functions at one address than compilers produce.
const MAX_INLINED: usize = 128;

/// The debug information of one module. Units are decoded when an address in them is first looked up.
pub(super) struct DebugInfo {
    context: Context<Section>,
    scopes: Scopes,
}

/// A function that debug information places at an address.
#[derive(Debug, Default)]
pub(super) struct DebugFrame {
    /// The linker's name where the compiler recorded it, else the name with its scope.
    pub(super) name: Option<String>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

impl DebugInfo {
    /// Reads the debug sections of a file, and of the supplementary file that it refers to.
    /// `None` when there are none, or none that can be understood.
    pub(super) fn load<'data, 'sup, R: ReadRef<'data>, S: ReadRef<'sup>>(
        elf: &Elf<'data, R>,
        supplementary: Option<&Elf<'sup, S>>,
    ) -> Option<Self> {
        if !elf_file::has_debug_info(elf) {
            return None;
        }
        let mut dwarf = Dwarf::load(|id| section(elf, id)).ok()?;
        if let Some(supplementary) = supplementary {
            dwarf.load_sup(|id| section(supplementary, id)).ok()?;
        }
        Some(DebugInfo { context: Context::from_dwarf(dwarf).ok()?, scopes: Scopes::default() })
    }

    /// The functions at an address, outermost first: the one that has the code, then those inlined into it.
    /// Empty when the debug information does not cover the address.
    pub(super) fn frames_at(&mut self, address: Svma) -> Vec<DebugFrame> {
        let mut frames = Vec::new();
        let Ok(mut found) = self.context.find_frames(address.0).skip_all_loads() else { return frames };
        while let Ok(Some(frame)) = found.next() {
            if frames.len() > MAX_INLINED {
                return Vec::new();
            }
            let location = frame.location;
            frames.push(DebugFrame {
                name: frame.function.and_then(|function| {
                    let name = String::from_utf8_lossy(&function.name.to_slice().ok()?).into_owned();
                    let has_scopes = function.language.is_some_and(is_cpp) && !is_mangled(&name);
                    let qualified = frame.dw_die_offset.filter(|_| has_scopes).and_then(|entry| {
                        let unit = self.context.find_dwarf_and_unit(address.0).skip_all_loads()?;
                        self.scopes.qualify(unit, entry, &name)
                    });
                    qualified.or(Some(name)).filter(|name| !name.is_empty())
                }),
                file: location.as_ref().and_then(|location| location.file).map(str::to_owned),
                line: location.and_then(|location| location.line).filter(|&line| line != 0),
            });
        }
        frames.reverse();
        frames
    }
}

fn is_cpp(language: gimli::DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_C_plus_plus
            | gimli::DW_LANG_C_plus_plus_03
            | gimli::DW_LANG_C_plus_plus_11
            | gimli::DW_LANG_C_plus_plus_14
            | gimli::DW_LANG_C_plus_plus_17
            | gimli::DW_LANG_C_plus_plus_20
    )
}

impl std::fmt::Debug for DebugInfo {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("DebugInfo").finish_non_exhaustive()
    }
}

/// Reads a section that functions and lines need; those that only variables and macros need are often larger,
/// and stay empty.
fn section<'data, R: ReadRef<'data>>(elf: &Elf<'data, R>, id: SectionId) -> Result<Section, gimli::Error> {
    let bytes = match id {
        SectionId::DebugLoc
        | SectionId::DebugLocLists
        | SectionId::DebugMacinfo
        | SectionId::DebugMacro
        | SectionId::DebugNames => None,
        _ => elf_file::section_bytes(elf, id.name()),
    };
    Ok(Section::new(Arc::from(&*bytes.unwrap_or_default()), LittleEndian))
}

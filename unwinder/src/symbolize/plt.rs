//! Names of procedure linkage stubs: the few instructions through which a module calls another.
//!
//! A stub has no symbol, but it jumps through a slot of the global offset table, and the relocation that fills
//! the slot names the function (System V ABI, AMD64 supplement, section 5.2):
//!
//! ```text
//!   .plt.sec   f3 0f 1e fa  ff 25 <slot - next instruction>   endbr64; jmp *slot(%rip)
//!   .rela.plt  slot  R_X86_64_JUMP_SLOT  memcpy               => memcpy@plt
//! ```

use object::read::ReadRef;
use object::read::elf::{FileHeader as _, Rela as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, elf};
use rustc_hash::FxHashMap;

use super::elf_file::{Elf, string_at};
use crate::Svma;

/// `jmp *disp32(%rip)`; with a `bnd` prefix these bytes follow it.
const JUMP_THROUGH_SLOT: [u8; 2] = [0xff, 0x25];

/// Length of opcode and displacement.
const JUMP_BYTES: u64 = 6;

/// The linkage stubs of one module.
#[derive(Debug, Default)]
pub(super) struct PltStubs {
    /// Sorted by start, without overlap.
    stubs: Vec<Stub>,
}

#[derive(Debug)]
struct Stub {
    start: u64,
    end: u64,
    function: Box<[u8]>,
}

impl PltStubs {
    /// Finds the stubs; none on another architecture than x86-64.
    pub(super) fn read<'data, R: ReadRef<'data>>(file: &Elf<'data, R>) -> Self {
        let mut stubs = Vec::new();
        if file.elf_header().e_machine(LittleEndian) == elf::EM_X86_64 {
            let slots = slots(file);
            for section in file.elf_section_table().iter() {
                let name = file.elf_section_table().section_name(LittleEndian, section);
                let Ok(name @ (b".plt" | b".plt.sec" | b".plt.got" | b".plt.bnd")) = name else { continue };
                let Ok(code) = section.data(LittleEndian, file.data()) else { continue };
                // `.plt.got` stubs are packed to 8 bytes unless they begin with `endbr64`.
                let is_packed = name == b".plt.got" && section.sh_entsize(LittleEndian) == 8;
                let stub_bytes = if is_packed { 8 } else { 16 };
                add_stubs(&mut stubs, section.sh_addr(LittleEndian), code, stub_bytes, &slots);
            }
        }
        stubs.sort_by_key(|stub| stub.start);
        PltStubs { stubs }
    }

    /// The linker's name of the function that the stub at `address` jumps to.
    pub(super) fn name_at(&self, address: Svma) -> Option<&[u8]> {
        let after = self.stubs.partition_point(|stub| stub.start <= address.0);
        let stub = self.stubs.get(after.checked_sub(1)?)?;
        (address.0 < stub.end).then_some(&stub.function)
    }
}

/// The function that the dynamic linker writes into each slot.
fn slots<'data, R: ReadRef<'data>>(file: &Elf<'data, R>) -> FxHashMap<u64, &'data [u8]> {
    let symbols = file.elf_dynamic_symbol_table();
    let sections = file.elf_section_table();
    let mut slots = FxHashMap::default();
    let strings =
        sections.section(symbols.string_section()).and_then(|it| it.data(LittleEndian, file.data()));
    let Ok(strings) = strings else { return slots };
    for section in sections.iter() {
        let Ok(Some((relocations, _))) = section.rela(LittleEndian, file.data()) else { continue };
        for relocation in relocations {
            let kind = relocation.r_type(LittleEndian, false);
            if kind != elf::R_X86_64_JUMP_SLOT && kind != elf::R_X86_64_GLOB_DAT {
                continue;
            }
            let symbol = relocation.symbol(LittleEndian, false).and_then(|index| symbols.symbol(index).ok());
            if let Some(name) = symbol.and_then(|symbol| string_at(strings, symbol.st_name(LittleEndian))) {
                slots.insert(relocation.r_offset(LittleEndian), name);
            }
        }
    }
    slots
}

fn add_stubs(
    stubs: &mut Vec<Stub>,
    section_start: u64,
    code: &[u8],
    stub_bytes: usize,
    slots: &FxHashMap<u64, &[u8]>,
) {
    let mut start = section_start;
    for stub in code.chunks(stub_bytes) {
        let end = start.wrapping_add(stub.len() as u64);
        if let Some(function) = jump_slot(start, stub).and_then(|slot| slots.get(&slot)) {
            stubs.push(Stub { start, end, function: (*function).into() });
        }
        start = end;
    }
}

/// The address of the slot that a stub jumps through.
fn jump_slot(stub_start: u64, stub: &[u8]) -> Option<u64> {
    let at = stub.windows(JUMP_THROUGH_SLOT.len()).position(|bytes| bytes == JUMP_THROUGH_SLOT)?;
    let displacement = stub.get(at + JUMP_THROUGH_SLOT.len()..)?.first_chunk::<4>()?;
    let next = stub_start.wrapping_add(at as u64).wrapping_add(JUMP_BYTES);
    Some(next.wrapping_add_signed(i64::from(i32::from_le_bytes(*displacement))))
}

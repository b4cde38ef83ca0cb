//! A 32-bit x86 program, made by hand so that no 32-bit compiler is needed: it pauses for ever.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const LOAD_ADDRESS: u32 = 0x0804_8000;
const HEADERS_SIZE: u32 = 52 + 32;

/// `again: mov eax, 29 (pause); int 0x80; jmp again`
const CODE: [u8; 9] = [0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7];

/// Writes the program as an executable file.
pub fn write(path: &Path) {
    fs::write(path, image()).expect("the program can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("and made executable");
}

/// An `Elf32_Ehdr`, one `Elf32_Phdr` that loads the whole file, and the code (elf(5)).
fn image() -> Vec<u8> {
    let size = HEADERS_SIZE + CODE.len() as u32;
    let mut image = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut half = |value: u16| image.extend(value.to_le_bytes());
    half(2); // e_type: ET_EXEC
    half(3); // e_machine: EM_386
    let mut word = |value: u32| image.extend(value.to_le_bytes());
    word(1); // e_version
    word(LOAD_ADDRESS + HEADERS_SIZE); // e_entry
    word(52); // e_phoff
    word(0); // e_shoff
    word(0); // e_flags
    // e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx
    for value in [52_u16, 32, 1, 0, 0, 0] {
        image.extend(value.to_le_bytes());
    }
    // p_type PT_LOAD, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_flags R+X, p_align
    for value in [1, 0, LOAD_ADDRESS, LOAD_ADDRESS, size, size, 5, 0x1000] {
        image.extend(value.to_le_bytes());
    }
    image.extend(CODE);
    image
}

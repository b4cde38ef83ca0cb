//! Python's strings, as they lie in memory.

use super::PythonError;
use super::layout::TextLayout;
use super::snapshot::{avma_at, field, u32_at, u64_at};
use crate::{Avma, Memory};

/// The longest name or path that is read; the compiler allows longer ones, people do not write them.
const MAX_STR: u64 = 1 << 16;
const MAX_BYTES: u64 = 16 << 20;

/// Reads a `str`. Names that cannot be decoded (lone surrogates) get U+FFFD in their place.
pub(crate) fn read_str(
    address: Avma,
    layout: &TextLayout,
    memory: &impl Memory,
) -> Result<String, PythonError> {
    let bad = PythonError::BadPointer { what: "a str", address };
    if address.0 == 0 || !address.0.is_multiple_of(8) {
        return Err(bad);
    }
    let mut header = [0; 0x80];
    let header = header.get_mut(..layout.ascii_data).ok_or(bad)?;
    memory.read(address, header)?;
    let length = u64_at(header, layout.str_length);
    if length > MAX_STR {
        return Err(bad);
    }
    let state = u32_at(header, layout.str_state) >> layout.kind_shift;
    let (kind, compact, ascii) = (state & 7, state & 8 != 0, state & 16 != 0);
    if !matches!(kind, 1 | 2 | 4) || ascii && kind != 1 {
        return Err(bad);
    }
    let data = match (compact, ascii) {
        (true, true) => field(address, layout.ascii_data),
        (true, false) => field(address, layout.wide_data),
        (false, _) => Avma(memory.read_u64(field(address, layout.wide_data))?),
    };
    let mut bytes = vec![0; length as usize * kind as usize];
    memory.read(data, &mut bytes)?;
    Ok(decode(&bytes, kind))
}

/// Text in code units of `kind` bytes, each a code point.
fn decode(bytes: &[u8], kind: u32) -> String {
    let code_point = |unit: &[u8]| {
        let value = unit.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
        char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    bytes.chunks_exact(kind as usize).map(code_point).collect()
}

/// Reads a `bytes`.
pub(crate) fn read_bytes(
    address: Avma,
    layout: &TextLayout,
    memory: &impl Memory,
) -> Result<Vec<u8>, PythonError> {
    let bad = PythonError::BadPointer { what: "a bytes object", address };
    if address.0 == 0 || !address.0.is_multiple_of(8) {
        return Err(bad);
    }
    let size = memory.read_u64(field(address, layout.bytes_size))?;
    if size > MAX_BYTES {
        return Err(bad);
    }
    let mut bytes = vec![0; size as usize];
    memory.read(field(address, layout.bytes_data), &mut bytes)?;
    Ok(bytes)
}

/// Whether the type object at `address` is `code`, the type of code objects.
pub(crate) fn is_code_type(address: Avma, layout: &TextLayout, memory: &impl Memory) -> bool {
    let mut type_object = [0; 8];
    let mut name = [0; 5];
    memory.read(field(address, layout.tp_name), &mut type_object).is_ok()
        && memory.read(avma_at(&type_object, 0), &mut name).is_ok()
        && name == *b"code\0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_code_points() {
        assert_eq!(decode(b"abc", 1), "abc");
        assert_eq!(decode(&[0xe9], 1), "\u{e9}");
        assert_eq!(decode(&[0x2d, 0x4e, 0x87, 0x65], 2), "\u{4e2d}\u{6587}");
        assert_eq!(decode(&[0x00, 0xf4, 0x01, 0x00], 4), "\u{1f400}");
        assert_eq!(decode(&[0x00, 0xd8], 2), "\u{fffd}");
    }
}

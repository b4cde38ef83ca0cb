//! 3.11 on: the location table (PEP 657, `Objects/locations.md`, `InternalDocs/code_objects.md`).
//!
//! ```text
//!   first byte   1 c c c c n n n    c = form, n + 1 = code units of two bytes that it covers
//!   form 0-9     one more byte      columns; same line
//!   form 10-12   two more bytes     columns; line + (form - 10)
//!   form 13      svarint            line delta, no columns
//!   form 14      svarint, 3 varints line delta, end line, columns
//!   form 15      nothing            no location
//! ```

use super::{LineStart, moved};

pub(super) fn decode(table: &[u8], first_line: u32) -> Vec<LineStart> {
    let mut bytes = table.iter().copied();
    let (mut offset, mut line) = (0_u32, first_line);
    let mut starts = Vec::new();
    // What is not the first byte of an entry belongs to a broken one: pass over it, as the interpreter does.
    while let Some(first) = bytes.find(|byte| byte & 0x80 != 0) {
        let form = first >> 3 & 15;
        let delta = match form {
            0..=9 => 0,
            10..=12 => i64::from(form) - 10,
            13 | 14 => read_svarint(&mut bytes),
            _ => 0,
        };
        line = moved(line, delta);
        starts.push(LineStart { offset, line: (form != 15).then_some(line) });
        offset = offset.saturating_add((u32::from(first & 7) + 1) * 2);
    }
    starts.push(LineStart { offset, line: None });
    starts
}

/// Little-endian groups of six bits, bit 6 set in all but the last.
fn read_varint(bytes: &mut impl Iterator<Item = u8>) -> u64 {
    let (mut value, mut shift) = (0_u64, 0);
    for byte in bytes {
        value |= u64::from(byte & 63).checked_shl(shift).unwrap_or(0);
        shift += 6;
        if byte & 64 == 0 || shift > 60 {
            break;
        }
    }
    value
}

/// A varint whose lowest bit is the sign.
fn read_svarint(bytes: &mut impl Iterator<Item = u8>) -> i64 {
    let value = read_varint(bytes);
    let magnitude = (value >> 1) as i64;
    if value & 1 != 0 { -magnitude } else { magnitude }
}

//! 3.10: `co_linetable` (PEP 626): pairs of the size of a stretch of bytecode and its signed line delta, of which
//! -128 means that it has no line.

use super::{LineStart, moved};

const NO_LINE: i8 = -128;

pub(super) fn decode(table: &[u8], first_line: u32) -> Vec<LineStart> {
    let (mut offset, mut line) = (0_u32, first_line);
    let mut starts = Vec::new();
    for pair in table.chunks_exact(2) {
        let [size, delta] = *pair else { break };
        let delta = delta as i8;
        if delta != NO_LINE {
            line = moved(line, i64::from(delta));
        }
        // An empty stretch only moves the line on.
        if size != 0 {
            starts.push(LineStart { offset, line: (delta != NO_LINE).then_some(line) });
        }
        offset = offset.saturating_add(u32::from(size));
    }
    starts.push(LineStart { offset, line: None });
    starts
}

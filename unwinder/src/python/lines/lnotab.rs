//! 3.6 to 3.9: `co_lnotab` (`Objects/lnotab_notes.txt`): pairs of an unsigned offset delta and a signed line delta.
//! A delta that does not fit is spread over several pairs.

use super::{LineStart, moved};

pub(super) fn decode(table: &[u8], first_line: u32) -> Vec<LineStart> {
    let (mut offset, mut line) = (0_u32, first_line);
    let mut starts = vec![LineStart { offset, line: Some(line) }];
    for pair in table.chunks_exact(2) {
        let [offset_delta, line_delta] = *pair else { break };
        offset = offset.saturating_add(u32::from(offset_delta));
        line = moved(line, i64::from(line_delta as i8));
        // Later pairs at the same offset go on where the earlier ones stopped.
        match starts.last_mut() {
            Some(last) if last.offset == offset => last.line = Some(line),
            _ => starts.push(LineStart { offset, line: Some(line) }),
        }
    }
    starts
}

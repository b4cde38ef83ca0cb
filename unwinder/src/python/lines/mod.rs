//! From an offset in the bytecode to a line, one file per encoding of the line table.
//!
//! No byte is ever subtracted from the offset, unlike for native callers: it points to, or into, the very
//! instruction that runs, and entries cover an instruction together with its inline caches.

mod linetable;
mod lnotab;
mod location;
#[cfg(test)]
mod tests;

use super::layout::LineFormat;

/// A line table, decoded: the line of each stretch of bytecode.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LineTable {
    /// By offset; each goes up to the next one's start.
    starts: Vec<LineStart>,
}

/// From `offset` on, the line is `line`; `None` where the bytecode has no line of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineStart {
    pub offset: u32,
    pub line: Option<u32>,
}

impl LineTable {
    /// Decodes `table`, the bytes of `co_lnotab` or `co_linetable`.
    pub fn decode(format: LineFormat, table: &[u8], first_line: u32) -> LineTable {
        let mut starts = match format {
            LineFormat::Lnotab => lnotab::decode(table, first_line),
            LineFormat::LineTable => linetable::decode(table, first_line),
            LineFormat::LocationTable => location::decode(table, first_line),
        };
        starts.dedup_by_key(|start| start.line);
        LineTable { starts }
    }

    /// The line of the instruction at `offset`; `None` when it has none.
    pub fn line(&self, offset: u32) -> Option<u32> {
        let after = self.starts.partition_point(|start| start.offset <= offset);
        self.starts.get(after.checked_sub(1)?)?.line
    }
}

/// A line number moved by a delta from the target's table.
fn moved(line: u32, delta: i64) -> u32 {
    let line = i64::from(line).saturating_add(delta);
    line.clamp(0, i64::from(u32::MAX)) as u32
}

//! Two profiles as one flame graph: as wide as the new one, red where it grew and blue where it shrank.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use inferno::flamegraph::color::BackgroundColor;
use inferno::flamegraph::{self, Options, TextTruncateDirection};

use super::{MIN_WIDTH_PERCENT, svg_text, write_empty};
use crate::View;
use crate::folded::microseconds;

/// Draws the new profile, coloured by how each function's own time changed from the base, whose times are scaled to
/// the new profile's wall time. Stacks that only the base has have no width.
pub fn write_difference(base: &View<'_>, new: &View<'_>, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut stacks: BTreeMap<Vec<String>, (u64, u64)> = BTreeMap::new();
    let scale = new.wall_ns() as f64 / base.wall_ns().max(1) as f64;
    for (stack, value) in times(base) {
        stacks.entry(stack).or_default().0 += (value as f64 * scale).round() as u64;
    }
    for (stack, value) in times(new) {
        stacks.entry(stack).or_default().1 += value;
    }
    if stacks.values().all(|(_, new)| *new == 0) {
        return write_empty(new, out);
    }
    let mut options = Options::default();
    options.title =
        "Differential flame graph: red took more of the wall time than before, blue less".to_owned();
    options.count_name = "ms".to_owned();
    options.factor = 0.001; // The lines below are in microseconds.
    options.bgcolors = Some(BackgroundColor::Grey);
    options.min_width = MIN_WIDTH_PERCENT;
    options.text_truncate_direction = TextTruncateDirection::Right;
    // As for one profile: sorted by frame already, and taken the last one first. A stack comes before those that
    // call on from it, which inferno needs to find the change of its leaf.
    options.flame_chart = true;
    let lines: Vec<String> = (stacks.iter().rev())
        .map(|(stack, (base, new))| format!("{} {base} {new}", stack.join(";")))
        .collect();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut out)
}

/// The rows of a view: texts of the frames and microseconds.
fn times(view: &View<'_>) -> Vec<(Vec<String>, u64)> {
    let texts: Vec<String> = view.frames().iter().map(|frame| svg_text(&frame.text())).collect();
    let rows = view.rows();
    let values = microseconds(&rows);
    let stack = |row: &crate::Row| {
        view.stack(row.stack).iter().map(|frame| texts[frame.0 as usize].clone()).collect()
    };
    rows.iter().map(stack).zip(values).collect()
}

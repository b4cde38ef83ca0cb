//! The difference as text for terminals.

use std::io::{self, Write};

use super::{Change, Difference};

impl Difference {
    /// Prints the `limit` functions that come first; shares are of the wall time, changes in points of a hundred and
    /// as a multiple of before.
    ///
    /// ```text
    ///    self: base      new   change  growth   total: base      new   change  growth  function
    ///        20.0 %   30.0 %    +10.0   x1.50        20.0 %   30.0 %    +10.0   x1.50  load (app.py)
    /// ```
    pub fn write_text(&self, limit: usize, mut out: impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:>12} {:>8} {:>8} {:>7} {:>13} {:>8} {:>8} {:>7}  function",
            "self: base", "new", "change", "growth", "total: base", "new", "change", "growth"
        )?;
        for row in self.functions.iter().take(limit) {
            let [own, own_new, own_change, own_growth] = columns(&row.self_time);
            let [total, total_new, total_change, total_growth] = columns(&row.total);
            let function: String =
                row.function.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
            writeln!(
                out,
                "{own:>12} {own_new:>8} {own_change:>8} {own_growth:>7} \
                 {total:>13} {total_new:>8} {total_change:>8} {total_growth:>7}  {function}"
            )?;
        }
        Ok(())
    }
}

/// Before, after, change and growth; `-` for nothing.
fn columns(change: &Change) -> [String; 4] {
    let percent = |ns: u64, share: f64| match ns {
        0 => "-".to_owned(),
        _ => format!("{:.1} %", 100.0 * share),
    };
    let growth = match change.growth() {
        Some(times) => format!("x{times:.2}"),
        None if change.new_ns > 0 => "new".to_owned(),
        None => "-".to_owned(),
    };
    [
        percent(change.base_ns, change.base_share),
        percent(change.new_ns, change.new_share),
        format!("{:+.1}", 100.0 * change.points()),
        growth,
    ]
}

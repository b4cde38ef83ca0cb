//! Tables as text for terminals: times in ms, right-aligned; what may be long comes last.

use std::io::{self, Write};

use super::{FunctionTable, Split, ThreadTable};

impl FunctionTable {
    /// Prints the table; percentages are of the time shown.
    ///
    /// ```text
    ///      self ms       %     total ms       %   on CPU  runnable      gil  blocked  function
    ///        250.0  24.3 %        250.0  24.3 %    100 %         -        -        -  ops::fma (simd.h)
    /// ```
    /// The split by state is that of the self time, or of the total where a function has none of its own.
    pub fn write_text(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:>12} {:>7} {:>12} {:>7} {:>8} {:>9} {:>8} {:>8}  function",
            "self ms", "%", "total ms", "%", "on CPU", "runnable", "gil", "blocked"
        )?;
        for row in &self.functions {
            let (own_ns, total_ns) = (row.self_time.sum_ns(), row.total.sum_ns());
            let split = if own_ns > 0 { &row.self_time } else { &row.total };
            let [running, runnable, gil, blocked] = shares(split);
            writeln!(
                out,
                "{:>12} {:>7} {:>12} {:>7} {running:>8} {runnable:>9} {gil:>8} {blocked:>8}  {}",
                ms(own_ns),
                percent(own_ns, self.shown_ns),
                ms(total_ns),
                percent(total_ns, self.shown_ns),
                printable(&row.function),
            )?;
        }
        Ok(())
    }
}

impl ThreadTable {
    /// Prints the table: per thread its time by state as sampled and, in the last columns before the name, on a
    /// CPU and waiting for one as the kernel counted it.
    pub fn write_text(&self, mut out: impl Write) -> io::Result<()> {
        writeln!(
            out,
            "{:>7} {:>11} {:>8} {:>9} {:>8} {:>8} {:>12} {:>12}  thread",
            "tid", "wall ms", "on CPU", "runnable", "gil", "blocked", "kernel: cpu", "kernel: wait"
        )?;
        let mut process = None;
        for row in &self.threads {
            if process.replace(row.pid) != Some(row.pid) {
                writeln!(out, "process {}: {}", row.pid, printable(&row.process))?;
            }
            let [running, runnable, gil, blocked] = shares(&row.sampled);
            writeln!(
                out,
                "{:>7} {:>11} {running:>8} {runnable:>9} {gil:>8} {blocked:>8} {:>12} {:>12}  {}",
                row.tid,
                ms(row.wall_ns),
                ms(row.cpu_ns),
                ms(row.wait_ns),
                printable(&row.name),
            )?;
        }
        Ok(())
    }
}

/// The split in percent of its sum; `-` for nothing.
fn shares(split: &Split) -> [String; 4] {
    let sum_ns = split.sum_ns();
    [split.running_ns, split.runnable_ns, split.gil_ns, split.blocked_ns].map(|ns| percent(ns, sum_ns))
}

fn percent(part_ns: u64, whole_ns: u64) -> String {
    match part_ns {
        0 => "-".to_owned(),
        part_ns => format!("{:.1} %", 100.0 * part_ns as f64 / whole_ns.max(1) as f64),
    }
}

fn ms(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e6)
}

/// Names come from the target: a control character in one must not reach the terminal.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

//! Writes folded text.

use std::io::{self, BufWriter, Write};

use super::Numbers;
use super::escape::push_escaped;
use crate::{Row, View};

/// Writes the rows of a view, sorted by the texts of their frames. Times are whole microseconds, rounded so that
/// they add up to the rounded total: by largest remainders, none off by a microsecond or more. Rows that round to
/// nothing are left out.
pub fn write(view: &View<'_>, numbers: Numbers, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let rows = view.rows();
    let values = match numbers {
        Numbers::Microseconds => microseconds(&rows),
        Numbers::Samples { .. } => rows.iter().map(|row| row.observations).collect(),
    };
    let texts: Vec<String> = view.frames().iter().map(|frame| frame.text()).collect();
    let mut line = String::new();
    for (row, value) in rows.iter().zip(values) {
        if value == 0 {
            continue;
        }
        line.clear();
        for (depth, frame) in view.stack(row.stack).into_iter().enumerate() {
            if depth > 0 {
                line.push(';');
            }
            push_escaped(&mut line, &texts[frame.0 as usize]);
        }
        writeln!(out, "{line} {value}")?;
    }
    out.flush()
}

/// The rows' weights in whole microseconds by the method of largest remainders: each is rounded down, and the
/// rows that lost most get one microsecond more until the sum is the rounded total. So no row is off by a
/// microsecond or more, and the sum by half of one at most.
pub(crate) fn microseconds(rows: &[Row]) -> Vec<u64> {
    let total_ns: u64 = rows.iter().map(|row| row.weight_ns).sum();
    let mut values: Vec<u64> = rows.iter().map(|row| row.weight_ns / 1000).collect();
    let total = total_ns / 1000 + u64::from(total_ns % 1000 >= 500);
    let lost = total - values.iter().sum::<u64>();
    let mut by_remainder: Vec<usize> = (0..rows.len()).collect();
    by_remainder.sort_by_key(|&at| std::cmp::Reverse(rows[at].weight_ns % 1000));
    for at in by_remainder.into_iter().take(lost as usize) {
        values[at] += 1;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StackId;

    #[test]
    fn rounding_conserves_the_total() {
        let round = |weights: &[u64]| {
            let row = |&weight_ns| Row { stack: StackId::EMPTY, weight_ns, observations: 1 };
            microseconds(&weights.iter().map(row).collect::<Vec<_>>())
        };
        assert_eq!(round(&[1400, 1400, 1400]), [2, 1, 1]);
        assert_eq!(round(&[600, 600, 600]), [1, 1, 0]);
        assert_eq!(round(&[1499, 0, 2000]), [1, 0, 2]);
        assert_eq!(round(&[]), []);
        let many: Vec<u64> = (0..1000).map(|n| n * n * 7919 % 100_003).collect();
        let total: u64 = many.iter().sum();
        assert_eq!(round(&many).iter().sum::<u64>(), (total + 500) / 1000);
    }
}

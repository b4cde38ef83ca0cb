//! Reads folded text.

use std::io::{self, BufRead};

use super::Numbers;
use super::escape::unescape;
use crate::{Frame, Importer, Profile};

/// What a folded file held.
#[derive(Clone, Debug)]
pub struct FoldedFile {
    /// Its stacks as samples, one after the other in the order of the file.
    pub profile: Profile,
    /// Lines that were no folded text and were skipped.
    pub bad_lines: u64,
    /// Number of the first of them, counted from 1.
    pub first_bad_line: Option<u64>,
}

/// Reads folded text, ours or another tool's. Empty lines and comments (`# ...`) are passed over, lines that
/// cannot be read are counted and skipped.
///
/// # Errors
/// Only those of `input`: what is in it cannot fail.
pub fn read(mut input: impl BufRead, numbers: Numbers) -> io::Result<FoldedFile> {
    let mut importer = Importer::default();
    let (mut bad_lines, mut first_bad_line) = (0, None);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.is_empty() || text.starts_with(b"# ") {
            continue;
        }
        if add_line(&mut importer, text, numbers).is_none() {
            bad_lines += 1;
            first_bad_line.get_or_insert(number);
        }
    }
    Ok(FoldedFile { profile: importer.finish(), bad_lines, first_bad_line })
}

/// Adds one line; `None`: it is no folded text, or its time does not fit.
fn add_line(importer: &mut Importer, line: &[u8], numbers: Numbers) -> Option<()> {
    let (stack, number) = std::str::from_utf8(line).ok()?.rsplit_once(' ')?;
    let value: u64 = number.parse().ok()?;
    let (weight_ns, observations) = match numbers {
        Numbers::Microseconds => (value.checked_mul(1000)?, 1),
        Numbers::Samples { interval_ns } => (value.checked_mul(interval_ns)?, u32::try_from(value).ok()?),
    };
    let frames = stack.split(';').map(|text| Frame::from_text(&unescape(text))).collect();
    importer.add(frames, weight_ns, observations).ok()
}

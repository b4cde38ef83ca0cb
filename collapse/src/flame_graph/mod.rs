//! Flame graphs: SVG made by the `inferno` crate.

mod difference;
mod palette;

use std::io::{self, BufWriter, Write};

use inferno::flamegraph::color::{BackgroundColor, PaletteMap};
use inferno::flamegraph::{self, Options, TextTruncateDirection};

use crate::folded::microseconds;
use crate::{Row, View};
pub use difference::write_difference;

/// Narrower frames are left out, percent of the width: a twentieth of a millimetre on a wide screen.
const MIN_WIDTH_PERCENT: f64 = 0.02;

/// Draws a view. The title says which clock is shown, the subtitle of what and how; numbers are milliseconds and
/// percent of the time shown. A view without any time gives a picture that says so.
pub fn write(view: &View<'_>, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let rows = view.rows();
    let values = microseconds(&rows);
    if values.iter().all(|&value| value == 0) {
        return write_empty(view, out);
    }
    let texts: Vec<String> = view.frames().iter().map(|frame| svg_text(&frame.text())).collect();
    let mut palette = PaletteMap::default();
    for (frame, text) in view.frames().iter().zip(&texts) {
        palette.insert(text, palette::color(frame));
    }
    palette.insert("", palette::ALL); // inferno's own box below all others
    let mut options = Options::default();
    options.title = title(view);
    options.subtitle = Some(subtitle(view));
    options.count_name = "ms".to_owned();
    options.factor = 0.001; // The lines below are in microseconds.
    options.palette_map = Some(&mut palette);
    options.bgcolors = Some(BackgroundColor::Grey);
    options.min_width = MIN_WIDTH_PERCENT;
    options.text_truncate_direction = TextTruncateDirection::Right;
    // inferno sorts and checks lines as text, in which `f (x)` comes between `f` and `f;g` and splits the box of
    // `f` in two. Rows are sorted by frame; a flame chart takes them unsorted, the last one first.
    options.flame_chart = true;
    let lines: Vec<String> = (rows.iter().zip(values).rev())
        .filter(|(_, value)| *value > 0)
        .map(|(row, value)| line(view, &texts, row, value))
        .collect();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut out)
}

/// A row in inferno's input format.
fn line(view: &View<'_>, texts: &[String], row: &Row, value: u64) -> String {
    let frames: Vec<&str> =
        view.stack(row.stack).iter().map(|frame| texts[frame.0 as usize].as_str()).collect();
    format!("{} {value}", frames.join(";"))
}

/// A frame's text without what inferno's input or XML 1.0 cannot hold. What replaces it looks the same where
/// Unicode has such a character: U+037E for `;`, a no-break space where a space would make the rest of the text
/// a comment or a number of samples.
fn svg_text(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| match c {
            ';' => '\u{37e}',
            '\n' | '\r' => '\u{2424}',
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect();
    if shown.trim().is_empty() {
        return "[no name]".to_owned();
    }
    if let Some(rest) = shown.strip_prefix("# ") {
        shown = format!("#\u{a0}{rest}");
    }
    match shown.rsplit_once(' ') {
        Some((before, after)) if after.chars().all(|c| c.is_ascii_digit() || c == '.') => {
            format!("{before}\u{a0}{after}")
        }
        _ => shown,
    }
}

fn title(view: &View<'_>) -> String {
    format!("Flame graph: {}", view.clock().describe())
}

/// `python3 train.py (pid 1240), 9 threads · 10.0 s at 100 Hz · shown: 12.5 s of 90.0 s of thread time (13.9 %)`.
fn subtitle(view: &View<'_>) -> String {
    let profile = view.profile();
    let target = match profile.processes.as_slice() {
        [] => "no process".to_owned(),
        [only] if only.pid == 0 => only.name.clone(),
        [only] => format!("{} (pid {})", only.name, only.pid),
        [first, rest @ ..] => {
            format!("{} (pid {}) and {} more", first.name, first.pid, count(rest.len(), "process"))
        }
    };
    let mut parts = vec![match view.threads().count() {
        threads if target.is_empty() => count(threads, "thread"),
        threads => format!("{target}, {}", count(threads, "thread")),
    }];
    let recorded = &profile.recorded;
    if recorded.rate_hz > 0.0 {
        parts.push(format!("{} at {} Hz", seconds(recorded.duration_ns), recorded.rate_hz));
    }
    let (shown, wall) = (view.shown_ns(), view.wall_ns());
    let percent = 100.0 * shown as f64 / wall.max(1) as f64;
    parts.push(format!("shown: {} of {} of thread time ({percent:.1} %)", seconds(shown), seconds(wall)));
    svg_text(&parts.join(" · "))
}

fn count(number: usize, what: &str) -> String {
    match (number, what.ends_with('s')) {
        (1, _) => format!("1 {what}"),
        (_, true) => format!("{number} {what}es"),
        (_, false) => format!("{number} {what}s"),
    }
}

fn seconds(ns: u64) -> String {
    match ns as f64 / 1e9 {
        short if short < 0.1 => format!("{:.1} ms", short * 1e3),
        long => format!("{long:.1} s"),
    }
}

/// A picture for a view in which no time is shown: inferno knows only an error for it.
fn write_empty(view: &View<'_>, mut out: impl Write) -> io::Result<()> {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let lines = [title(view), subtitle(view), "No time to show: no sample matches.".to_owned()];
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg version=\"1.1\" width=\"1200\" height=\"90\" viewBox=\"0 0 1200 90\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f0f0f0\"/>\n"
    )?;
    for (at, text) in lines.iter().enumerate() {
        let size = if at == 0 { 17 } else { 12 };
        let y = 24 + 24 * at;
        let text = escape(text);
        writeln!(
            out,
            "<text x=\"50%\" y=\"{y}\" text-anchor=\"middle\" font-family=\"monospace\" font-size=\"{size}\">{text}</text>"
        )?;
    }
    out.write_all(b"</svg>\n")?;
    out.flush()
}

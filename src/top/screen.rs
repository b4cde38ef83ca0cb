//! What `top` looks like.
//!
//! ```text
//!  4242 python3 train.py (Python 3.11.2)                                      23 s, 100.0 Hz
//!  on CPU 123%  runnable 3%  waits for GIL 20%  blocked 300%   GIL held 98%: 97% worker (4250)
//!  5 threads   0.2% of ticks late   targets paused 0.3%                        by on CPU
//!     self  total    run  ready    gil  block   self s total s  function
//!    97.0%  97.0%  96.0%   1.0%              22.3    22.3  fib (train.py)
//!  q quit  s sort  t threads  f filter  p pause  ? help
//! ```

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Clear, Paragraph, Row, Table};
use stackclock_collapse::table::Split;

use super::figures::{FunctionFigures, ThreadFigures};
use super::live::{Flow, Mode, State};
use super::view::Listed;
use crate::error::OneLine;
use crate::figures::{percent, plural};

const NS_PER_S: f64 = 1e9;
/// Colours of the four states, in the order of [`Split`].
const COLOURS: [Color; 4] = [Color::Green, Color::Yellow, Color::Magenta, Color::Blue];
const NUMBER: Constraint = Constraint::Length(8);
const HELP: &str = "\
q        quit
s        sort by the next column: on CPU, self, total, since start
t        threads, or functions again
f or /   show only names that contain a text; Esc shows all again
p        pause, and go on
?        this help

Percentages are of the time of one thread in the last second: 200% is two threads
all the time. run: on a CPU. ready: waiting for a CPU. gil: waiting for the GIL.
block: asleep in a system call. They divide the self time; the seconds are since
the beginning.

Any key closes this.";

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let rows = [Constraint::Length(3), Constraint::Min(1), Constraint::Length(1)];
    let [head, table, foot] = Layout::vertical(rows).areas(frame.area());
    draw_head(frame, head, state);
    match state.choice.listed {
        Listed::Functions => draw_functions(frame, table, state),
        Listed::Threads => draw_threads(frame, table, state),
    }
    draw_foot(frame, foot, state);
    if state.mode == Mode::Helping {
        draw_help(frame, frame.area());
    }
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let lines = [targets(state), states(state), going(state)];
    let areas: [Rect; 3] = Layout::vertical([Constraint::Length(1); 3]).areas(area);
    for ((left, right), area) in lines.into_iter().zip(areas) {
        frame.render_widget(Paragraph::new(left), area);
        frame.render_widget(Paragraph::new(right).alignment(Alignment::Right), area);
    }
}

/// Whom we look at, and for how long.
fn targets(state: &State) -> (Line<'static>, Line<'static>) {
    let names = state.figures.processes.iter().map(|process| {
        let python = process.python.as_ref().map(|version| format!(" (Python {version})"));
        format!("{} {}{}", process.pid, OneLine(&process.command), python.unwrap_or_default())
    });
    let names = names.collect::<Vec<_>>().join(", ");
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let seconds = state.progress.map(|progress| format!("{:.0} s ", progress.elapsed.as_secs_f64()));
    (Line::styled(format!(" {names}"), bold), Line::from(seconds.unwrap_or_else(|| "looking ".to_owned())))
}

/// What the threads did in the last window, and who had the GIL.
fn states(state: &State) -> (Line<'static>, Line<'static>) {
    let everything = state.figures.everything().last;
    let last_ns = state.figures.last_ns;
    let names = ["on CPU", "runnable", "waits for GIL", "blocked"];
    let spans = names.into_iter().zip(parts(&everything.time)).zip(COLOURS).map(|((name, ns), colour)| {
        Span::styled(format!(" {name} {} ", whole_percent(ns, last_ns)), Style::new().fg(colour))
    });
    let holder = state.figures.threads().max_by_key(|thread| thread.time.last.holds_gil_ns);
    let gil = match holder {
        Some(thread) if thread.time.last.holds_gil_ns > 0 => format!(
            "GIL held {}: {} {} ({}) ",
            whole_percent(everything.holds_gil_ns, last_ns),
            whole_percent(thread.time.last.holds_gil_ns, last_ns),
            OneLine(&thread.name),
            thread.tid
        ),
        _ => String::new(),
    };
    (Line::from_iter(spans), Line::from(gil))
}

/// How the recording is going.
fn going(state: &State) -> (Line<'static>, Line<'static>) {
    let threads = state.figures.threads().filter(|thread| thread.time.last.time.sum_ns() > 0).count();
    let quality = state.progress.map(|progress| {
        format!(
            "   {:.1}% of ticks late   targets paused {:.1}%",
            percent(progress.late as f64, progress.ticks as f64),
            percent(progress.stopped.as_secs_f64(), progress.elapsed.as_secs_f64())
        )
    });
    let threads = plural(threads as u64, "thread", "threads");
    let flow = match state.flow {
        Flow::Running => "",
        Flow::Paused => "PAUSED   ",
        Flow::Ended => "ENDED   ",
    };
    (
        Line::from(format!(" {threads}{}", quality.unwrap_or_default())),
        Line::from(format!("{flow}by {} ", state.choice.order.name())),
    )
}

fn draw_functions(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let rows = state.choice.functions(&state.figures);
    let last_ns = state.figures.last_ns;
    let row = |row: &FunctionFigures| {
        let (last, all) = (&row.time.last, &row.time.all);
        let mut cells =
            vec![number(share(last.own.sum_ns(), last_ns)), number(share(last.total.sum_ns(), last_ns))];
        cells.extend(split_cells(&last.own, last_ns));
        cells.extend([number(seconds(all.own.sum_ns())), number(seconds(all.total.sum_ns()))]);
        cells.push(Cell::from(OneLine(&row.function).to_string()));
        Row::new(cells)
    };
    let names = ["self", "total", "run", "ready", "gil", "block", "self s", "total s", "function"];
    draw_table(frame, area, names, rows.iter().take(area.height.into()).map(row).collect());
}

fn draw_threads(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let rows = state.choice.threads(&state.figures);
    let last_ns = state.figures.last_ns;
    let row = |row: &&ThreadFigures| {
        let (last, all) = (&row.time.last, &row.time.all);
        let mut cells = vec![number(row.tid.to_string()), number(share(last.holds_gil_ns, last_ns))];
        cells.extend(split_cells(&last.time, last_ns));
        cells.extend([number(seconds(all.time.running_ns)), number(seconds(all.time.sum_ns()))]);
        cells.push(Cell::from(OneLine(&row.name).to_string()));
        Row::new(cells)
    };
    let names = ["tid", "has GIL", "run", "ready", "gil", "block", "run s", "lived s", "thread"];
    draw_table(frame, area, names, rows.iter().take(area.height.into()).map(row).collect());
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, names: [&str; 9], rows: Vec<Row<'static>>) {
    let heads = names.iter().enumerate().map(|(at, name)| match at {
        8 => Cell::from((*name).to_owned()),
        _ => number((*name).to_owned()),
    });
    let header = Row::new(heads).style(Style::new().add_modifier(Modifier::REVERSED));
    let widths = [NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, Constraint::Fill(1)];
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1), area);
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let filter = OneLine(&state.choice.filter);
    let text = match state.mode {
        Mode::Filtering => format!(" filter: {filter}_   Enter keeps it, Esc shows all"),
        _ if !state.choice.filter.is_empty() => format!(" filter: {filter}   Esc shows all   ? help"),
        _ => " q quit  s sort  t threads  f filter  p pause  ? help".to_owned(),
    };
    frame.render_widget(Paragraph::new(text).style(Style::new().add_modifier(Modifier::DIM)), area);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let width = (HELP.lines().map(str::len).max().unwrap_or_default() as u16 + 4).min(area.width);
    let height = (HELP.lines().count() as u16 + 2).min(area.height);
    let [area] =
        Layout::horizontal([Constraint::Length(width)]).flex(ratatui::layout::Flex::Center).areas(area);
    let [area] =
        Layout::vertical([Constraint::Length(height)]).flex(ratatui::layout::Flex::Center).areas(area);
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys and columns ")), area);
}

fn split_cells(split: &Split, last_ns: u64) -> impl Iterator<Item = Cell<'static>> {
    parts(split).into_iter().zip(COLOURS).map(move |(ns, colour)| {
        let text = if ns == 0 { String::new() } else { share(ns, last_ns) };
        number(text).style(Style::new().fg(colour))
    })
}

fn parts(split: &Split) -> [u64; 4] {
    [split.running_ns, split.runnable_ns, split.gil_ns, split.blocked_ns]
}

fn number(text: String) -> Cell<'static> {
    Cell::from(Line::from(text).alignment(Alignment::Right))
}

fn share(ns: u64, of_ns: u64) -> String {
    format!("{:.1}%", percent(ns as f64, of_ns as f64))
}

fn whole_percent(ns: u64, of_ns: u64) -> String {
    format!("{:.0}%", percent(ns as f64, of_ns as f64))
}

fn seconds(ns: u64) -> String {
    format!("{:.1}", ns as f64 / NS_PER_S)
}

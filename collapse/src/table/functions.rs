//! Time by function.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::Split;
use crate::{Frame, FrameId, FrameKind, RunState, StackId, View};

/// By which column functions are sorted, most first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sort {
    /// Time in the function itself. The default.
    #[default]
    SelfTime,
    /// Time in the function and all it calls.
    TotalTime,
}

/// A function's time. Lines of a function are added up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FunctionRow {
    /// `function (file)` or `function (module)`.
    pub function: String,
    /// Time of samples whose innermost frame is the function; what a call into the kernel blocks for counts here.
    #[serde(rename = "self")]
    pub self_time: Split,
    /// Time of samples in which the function occurs, once however often it does.
    pub total: Split,
}

/// The functions of a view.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FunctionTable {
    /// Time that the threads lived, ns.
    pub wall_ns: u64,
    /// Time that the view shows, ns: the 100 % of its percentages.
    pub shown_ns: u64,
    /// One row per function, sorted; at most as many as were asked for.
    pub functions: Vec<FunctionRow>,
}

/// The `limit` functions of a view with the most time. Process and thread frames and states are no functions;
/// errors are, so that time that could not be attributed shows.
pub fn functions(view: &View<'_>, sort: Sort, limit: usize) -> FunctionTable {
    let functions = FunctionIds::new(view);
    let mut rows: Vec<(Split, Split)> = vec![Default::default(); functions.names.len()];
    for ((stack, _), time) in by_stack_and_state(view) {
        let called: Vec<usize> =
            view.stack(stack).into_iter().filter_map(|frame| functions.of(frame)).collect();
        if let Some(&leaf) = called.last() {
            rows[leaf].0 += time;
        }
        for function in called.into_iter().collect::<FxHashSet<usize>>() {
            rows[function].1 += time;
        }
    }
    let mut rows: Vec<FunctionRow> = (functions.names.into_iter().zip(rows))
        .map(|(function, (self_time, total))| FunctionRow { function, self_time, total })
        .filter(|row| row.total.sum_ns() > 0)
        .collect();
    rows.sort_by_cached_key(|row| {
        let (own, total) = (row.self_time.sum_ns(), row.total.sum_ns());
        let columns = if sort == Sort::SelfTime { (own, total) } else { (total, own) };
        (Reverse(columns), row.function.clone())
    });
    rows.truncate(limit);
    FunctionTable { wall_ns: view.wall_ns(), shown_ns: view.shown_ns(), functions: rows }
}

/// The view's time by shown stack and state: far fewer entries than samples.
fn by_stack_and_state(view: &View<'_>) -> FxHashMap<(StackId, RunState), Split> {
    let mut times: FxHashMap<(StackId, RunState), Split> = FxHashMap::default();
    for (sample, stack) in view.samples() {
        if let Some(stack) = stack {
            *times.entry((stack, sample.state)).or_default() += Split::of(sample.state, sample.weight_ns);
        }
    }
    times
}

/// Which function each shown frame belongs to.
struct FunctionIds {
    /// Texts of the functions.
    names: Vec<String>,
    /// Per frame the place of its function in `names`; `None`: the frame is no function.
    by_frame: Vec<Option<usize>>,
}

impl FunctionIds {
    fn new(view: &View<'_>) -> Self {
        let mut known: FxHashMap<String, usize> = FxHashMap::default();
        let mut names = Vec::new();
        let is_function = |frame: &Frame| frame.kind.is_code() || frame.kind == FrameKind::Error;
        let mut by_frame = Vec::new();
        for frame in view.frames() {
            by_frame.push(is_function(frame).then(|| {
                let name = Frame { line: None, ..frame.clone() }.text();
                *known.entry(name).or_insert_with_key(|name| {
                    names.push(name.clone());
                    names.len() - 1
                })
            }));
        }
        FunctionIds { names, by_frame }
    }

    fn of(&self, frame: FrameId) -> Option<usize> {
        self.by_frame[frame.0 as usize]
    }
}

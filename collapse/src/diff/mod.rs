//! Two profiles compared: which functions take more of the wall time than before, and which less.
//!
//! Recordings differ in length and in their number of threads, so times are not compared but shares: a function's time
//! divided by the wall time of its profile's threads ([`View::wall_ns`]).
//!
//! ```text
//!   base   2 s of 10 s of wall time = 20 %  ┐   change  +10 points of wall time
//!   new    9 s of 30 s of wall time = 30 %  ┘   growth  1.5 times
//! ```

mod text;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::View;
use crate::table::{self, Sort};

/// One time in both profiles.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Change {
    /// In the base, ns.
    pub base_ns: u64,
    /// In the new profile, ns.
    pub new_ns: u64,
    /// Share of the base's wall time, 0 to 1.
    pub base_share: f64,
    /// Share of the new profile's wall time, 0 to 1.
    pub new_share: f64,
}

impl Change {
    /// How much of the wall time more than before: `new_share - base_share`, so 0.05 is five points of a hundred.
    pub fn points(&self) -> f64 {
        self.new_share - self.base_share
    }

    /// How many times the share of before; `None` where there was none.
    pub fn growth(&self) -> Option<f64> {
        (self.base_share > 0.0).then(|| self.new_share / self.base_share)
    }
}

/// A function in both profiles.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FunctionChange {
    /// `function (file)` or `function (module)`.
    pub function: String,
    /// Time in the function itself.
    #[serde(rename = "self")]
    pub self_time: Change,
    /// Time in the function and all it calls.
    pub total: Change,
}

/// What changed from one profile to another.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// Time that the base's threads lived, ns: the 100 % of its shares.
    pub base_wall_ns: u64,
    /// The same of the new profile.
    pub new_wall_ns: u64,
    /// The functions whose time changed, those that grew most first.
    pub functions: Vec<FunctionChange>,
}

impl Difference {
    /// Compares two views, which should be of the same options.
    pub fn new(base: &View<'_>, new: &View<'_>, sort: Sort) -> Self {
        let (base_wall_ns, new_wall_ns) = (base.wall_ns(), new.wall_ns());
        let mut times: FxHashMap<String, [(u64, u64); 2]> = FxHashMap::default();
        for (side, view) in [base, new].into_iter().enumerate() {
            for row in table::functions(view, sort, usize::MAX).functions {
                times.entry(row.function).or_default()[side] = (row.self_time.sum_ns(), row.total.sum_ns());
            }
        }
        let change = |base_ns: u64, new_ns: u64| Change {
            base_ns,
            new_ns,
            base_share: share(base_ns, base_wall_ns),
            new_share: share(new_ns, new_wall_ns),
        };
        let mut functions: Vec<FunctionChange> = (times.into_iter())
            .map(|(function, [(base_self, base_total), (new_self, new_total)])| FunctionChange {
                function,
                self_time: change(base_self, new_self),
                total: change(base_total, new_total),
            })
            .filter(|row| row.self_time.points() != 0.0 || row.total.points() != 0.0)
            .collect();
        functions.sort_by(|a, b| {
            let key = |row: &FunctionChange| match sort {
                Sort::SelfTime => (row.self_time.points(), row.total.points()),
                Sort::TotalTime => (row.total.points(), row.self_time.points()),
            };
            let ((a_first, a_second), (b_first, b_second)) = (key(a), key(b));
            b_first.total_cmp(&a_first).then(b_second.total_cmp(&a_second)).then(a.function.cmp(&b.function))
        });
        Difference { base_wall_ns, new_wall_ns, functions }
    }

    /// The functions whose own or total share grew by more than `points`, in their order.
    pub fn grown_above(&self, points: f64) -> impl Iterator<Item = &FunctionChange> {
        // 0.4 - 0.2 is not exactly 0.2: growth of exactly the limit must not depend on the rounding.
        let limit = points + 1e-9;
        self.functions.iter().filter(move |row| row.self_time.points() > limit || row.total.points() > limit)
    }
}

fn share(part_ns: u64, whole_ns: u64) -> f64 {
    part_ns as f64 / whole_ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ViewOptions;
    use crate::folded::{self, Numbers};

    fn difference(base: &str, new: &str) -> Difference {
        let read = |text: &str| folded::read(text.as_bytes(), Numbers::Microseconds).unwrap().profile;
        let (base, new) = (read(base), read(new));
        let options = ViewOptions::default();
        Difference::new(&View::new(&base, &options), &View::new(&new, &options), Sort::SelfTime)
    }

    #[test]
    fn a_longer_recording_of_the_same_is_no_change() {
        assert_eq!(difference("a;b 10\na 30\n", "a;b 20\na 60\n").functions, []);
    }

    #[test]
    fn functions_of_one_side_grow_from_nothing_or_to_nothing() {
        let changed = difference("a;old 1\n", "a;new 4\n").functions;
        let rows: Vec<_> = (changed.iter())
            .map(|row| (row.function.as_str(), row.self_time.points(), row.self_time.growth()))
            .collect();
        assert_eq!(rows, [("new", 1.0, None), ("old", -1.0, Some(0.0))]);
    }

    #[test]
    fn nothing_compared_with_nothing_is_nothing() {
        assert_eq!(difference("", "").functions, []);
        assert_eq!(difference("", "a 1\n").functions[0].self_time.new_share, 1.0);
    }
}

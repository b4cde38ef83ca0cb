//! What is shown of the figures, and in which order; what keys change.

use super::figures::{Figures, FunctionFigures, ThreadFigures};

/// The column that rows are sorted by, most first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// On a CPU or waiting for one, in the last window: what keeps the machine busy. The default.
    #[default]
    OnCpu,
    /// Self time in the last window, whatever the thread was doing.
    SelfTime,
    /// Total time in the last window.
    TotalTime,
    /// Self time since the beginning.
    SinceStart,
}

impl Order {
    /// The one after this.
    pub fn next(self) -> Self {
        match self {
            Order::OnCpu => Order::SelfTime,
            Order::SelfTime => Order::TotalTime,
            Order::TotalTime => Order::SinceStart,
            Order::SinceStart => Order::OnCpu,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Order::OnCpu => "on CPU",
            Order::SelfTime => "self",
            Order::TotalTime => "total",
            Order::SinceStart => "since start",
        }
    }
}

/// What the table lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Listed {
    /// Functions.
    #[default]
    Functions,
    /// Threads.
    Threads,
}

/// The user's choices.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The order of rows.
    pub order: Order,
    /// What rows are.
    pub listed: Listed,
    /// Only rows whose name contains this, whatever its case.
    pub filter: String,
}

impl Choice {
    fn shows(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.filter.to_lowercase())
    }

    /// The functions to show, in order.
    pub fn functions(&self, figures: &Figures) -> Vec<FunctionFigures> {
        let mut rows: Vec<_> = figures.functions().filter(|row| self.shows(&row.function)).collect();
        let key = |row: &FunctionFigures| {
            let (last, all) = (&row.time.last, &row.time.all);
            match self.order {
                Order::OnCpu => (last.own.running_ns + last.own.runnable_ns, last.own.sum_ns()),
                Order::SelfTime => (last.own.sum_ns(), last.total.sum_ns()),
                Order::TotalTime => (last.total.sum_ns(), last.own.sum_ns()),
                Order::SinceStart => (all.own.sum_ns(), all.total.sum_ns()),
            }
        };
        rows.sort_by(|a, b| {
            key(b).cmp(&key(a)).then_with(|| b.time.all.total.sum_ns().cmp(&a.time.all.total.sum_ns()))
        });
        rows
    }

    /// The threads to show, in order.
    pub fn threads<'f>(&self, figures: &'f Figures) -> Vec<&'f ThreadFigures> {
        let mut rows: Vec<_> = figures.threads().filter(|row| self.shows(&row.name)).collect();
        let key = |row: &ThreadFigures| match self.order {
            Order::OnCpu => row.time.last.time.running_ns + row.time.last.time.runnable_ns,
            Order::SelfTime | Order::TotalTime => row.time.last.time.sum_ns(),
            Order::SinceStart => row.time.all.time.running_ns + row.time.all.time.runnable_ns,
        };
        rows.sort_by_key(|row| (std::cmp::Reverse(key(row)), row.pid, row.tid));
        rows
    }
}

//! Time by process and thread.

use serde::Serialize;

use super::Split;
use crate::{Profile, Thread, View};

/// A thread's life.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ThreadRow {
    /// Id of its process.
    pub pid: u32,
    /// Name of its process.
    pub process: String,
    /// Thread id.
    pub tid: u32,
    /// Name of the thread.
    pub name: String,
    /// Time that it lived in the recording, ns.
    pub wall_ns: u64,
    /// The same as sampled, by state. All of it, whatever the view's clock shows.
    pub sampled: Split,
    /// Time on a CPU by the kernel's count, ns.
    pub cpu_ns: u64,
    /// Time waiting for a CPU by the kernel's count, ns.
    pub wait_ns: u64,
    /// How often it was observed.
    pub observations: u64,
}

/// The threads of a view.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ThreadTable {
    /// One row per thread: processes by id, in each the busiest thread first.
    pub threads: Vec<ThreadRow>,
}

/// The threads that the view's name filter lets through.
pub fn threads(view: &View<'_>) -> ThreadTable {
    let profile = view.profile();
    let mut sampled: Vec<(Split, u64)> = vec![Default::default(); profile.threads.len()];
    for sample in &profile.samples {
        let (split, observations) = &mut sampled[sample.thread.0 as usize];
        *split += Split::of(sample.state, sample.weight_ns);
        *observations += u64::from(sample.observations);
    }
    let mut threads: Vec<ThreadRow> =
        view.threads().map(|(id, thread)| row(profile, thread, sampled[id.0 as usize])).collect();
    threads.sort_by_key(|row| (row.pid, std::cmp::Reverse(row.sampled.running_ns), row.tid));
    ThreadTable { threads }
}

fn row(profile: &Profile, thread: &Thread, (sampled, observations): (Split, u64)) -> ThreadRow {
    let process = &profile.processes[thread.process.0 as usize];
    ThreadRow {
        pid: process.pid,
        process: process.name.clone(),
        tid: thread.tid,
        name: thread.name.clone(),
        wall_ns: thread.end_ns.saturating_sub(thread.start_ns),
        sampled,
        cpu_ns: thread.totals.cpu_ns,
        wait_ns: thread.totals.wait_ns,
        observations,
    }
}

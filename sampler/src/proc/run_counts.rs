//! How often a thread has run, from the best source that the kernel has.

use std::io;
use std::sync::OnceLock;

use super::{KeptOpen, SchedStat};

/// A kept-open source of [`SchedStat`].
#[derive(Debug)]
pub enum RunCounts {
    /// The file of that name.
    SchedStat(KeptOpen),
    /// The context switches in `status`: they change whenever the thread has run, and tell no times. For kernels
    /// without SCHEDSTATS, whose `schedstat` is missing or says `0 0 0` (`fs/proc/base.c`, `proc_pid_schedstat`).
    Switches(KeptOpen),
}

impl RunCounts {
    /// Opens the source for a thread by the path of its folder in `/proc`.
    pub fn open(task: &str) -> io::Result<Self> {
        match kernel_counts_timeslices() {
            true => KeptOpen::open(format!("{task}/schedstat")).map(RunCounts::SchedStat),
            false => KeptOpen::open(format!("{task}/status")).map(RunCounts::Switches),
        }
    }

    /// The counts now.
    pub fn read(&self) -> io::Result<SchedStat> {
        match self {
            RunCounts::SchedStat(file) => file.read(SchedStat::parse),
            RunCounts::Switches(file) => file.read(switches),
        }
    }
}

/// Whether `schedstat` works: we run, so our own count cannot be 0.
fn kernel_counts_timeslices() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    *COUNTS.get_or_init(|| {
        let own = KeptOpen::open("/proc/thread-self/schedstat").and_then(|file| file.read(SchedStat::parse));
        own.is_ok_and(|own| own.timeslices > 0)
    })
}

/// The two kinds of context switches at the end of `status` (`proc_pid_status(5)`), added up.
fn switches(status: &str) -> Option<SchedStat> {
    let count = |name| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let timeslices = count("voluntary_ctxt_switches:")?.checked_add(count("nonvoluntary_ctxt_switches:")?)?;
    Some(SchedStat { timeslices, ..SchedStat::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_of_both_kinds_count() {
        let status = "Name:\tpython3\nState:\tS (sleeping)\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(switches(status).map(|counts| counts.timeslices), Some(157));
        assert_eq!(switches("Name:\tpython3\n"), None);
        assert_eq!(switches("voluntary_ctxt_switches:\t150\n"), None);
    }

    #[test]
    fn both_sources_see_this_thread_run() {
        let task = format!("/proc/self/task/{}", nix::unistd::gettid());
        let switches = RunCounts::Switches(KeptOpen::open(format!("{task}/status")).expect("status"));
        for source in [switches, RunCounts::open(&task).expect("counts")] {
            let before = source.read().expect("counts").timeslices;
            while source.read().expect("counts").timeslices == before {
                std::thread::sleep(std::time::Duration::from_micros(1));
            }
        }
    }
}

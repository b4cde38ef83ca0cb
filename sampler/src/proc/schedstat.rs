//! `/proc/PID/task/TID/schedstat`: what the scheduler knows of a thread (`Documentation/scheduler/sched-stats.rst`).

/// The three numbers of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SchedStat {
    /// Time spent on a CPU, ns; may lag by one scheduler tick while the thread runs.
    pub cpu_ns: u64,
    /// Time spent waiting in a run queue, ns; a wait is added when it ends.
    pub wait_ns: u64,
    /// How often the thread was put on a CPU. Unchanged means: it has not run in between.
    pub timeslices: u64,
}

impl SchedStat {
    /// Parses the file's one line.
    pub fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split_ascii_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(SchedStat { cpu_ns: next()?, wait_ns: next()?, timeslices: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_kernels_line_and_nothing_less() {
        let parsed = SchedStat::parse("12345 678 9\n");
        assert_eq!(parsed, Some(SchedStat { cpu_ns: 12345, wait_ns: 678, timeslices: 9 }));
        assert_eq!(SchedStat::parse("12345 678\n"), None);
        assert_eq!(SchedStat::parse(""), None);
        assert_eq!(SchedStat::parse("a b c"), None);
    }
}

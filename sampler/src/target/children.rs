//! Which processes the targets have started: `/proc/PID/task/TID/children` (CONFIG_PROC_CHILDREN).

use std::fs;

/// The pids of the children that the thread has forked and that have not been reparented.
pub fn children_of(pid: u32, tid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{tid}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|child| child.parse().ok()).collect()
}

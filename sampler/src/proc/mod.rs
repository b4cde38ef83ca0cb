//! The small `/proc` files that are read at every tick, kept open and parsed without allocation.
//!
//! What is read rarely (maps, cmdline, status) goes through the `procfs` crate instead.

mod kept_open;
mod run_counts;
mod schedstat;
mod stat;
mod syscall;

pub use kept_open::KeptOpen;
pub use run_counts::RunCounts;
pub use schedstat::SchedStat;
pub use stat::TaskState;
pub use syscall::SyscallState;

//! `stackclock doctor`.

use clap::Args;

use super::parse_pid;

/// `stackclock doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Process to try a recording on
    #[arg(short, long, value_name = "PID", value_parser = parse_pid, allow_negative_numbers = true)]
    pub pid: Option<u32>,
}

//! When and whom: targets, threads, states, ticks and the capture backends.
//!
//! *You provide* processes or a command ([`SessionOptions`]); *we provide* a [`Recording`] ([`record`]), from which
//! [`Recording::into_profile`] makes the profile; or [`snapshot`] looks once. *Not for* making sense of registers and bytes, which is
//! `stackclock-unwinder`'s, or of time, which is `stackclock-collapse`'s.

mod arch;
mod backend;
mod clock;
mod error;
mod live;
mod memory;
mod options;
mod proc;
mod ptrace;
mod punctuality;
mod recorder;
mod recording;
mod session;
mod snapshot;
mod target;
mod ticker;
mod watch;

pub use error::SamplerError;
pub use live::{Live, LiveEnd, LiveProfile};
pub use options::{FrameSelection, SessionOptions, Stops, Streams, Subprocesses, Targets};
pub use recording::{Child, ChildEnd, Recording};
pub use session::{Progress, record};
pub use snapshot::{SnapshotOptions, snapshot};

//! When and whom: targets, threads, states, ticks and the capture backends.

mod error;
mod options;

pub use error::SamplerError;
pub use options::{FrameSelection, SessionOptions, Subprocesses, Targets};

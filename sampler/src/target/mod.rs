//! The processes being looked at, and what is known of them between ticks.

mod admission;
mod children;
mod interpreter;
mod launch;
mod maps;
mod names;
mod process;
mod thread;

pub use admission::admit;
pub use children::children_of;
pub use launch::Launched;
pub use names::{describe, thread_name};
pub use process::{Life, Target, UnknownCode};
pub use thread::{Rest, TargetThread};

//! How much: the profile model of stackclock and the text and picture formats made from it.
//!
//! *You provide* samples (a stack, a state, a weight in nanoseconds) through [`Profile`]'s interning methods;
//! *we provide* the interned model, views on it (what is shown: on-CPU only or the whole wall clock, by thread,
//! by function) and the writers of folded text, flame graphs and tables.
//! *Not for* finding out what a process does: nothing here knows that processes can be attached to.
//!
//! Words used here and in the other crates, each with one meaning:
//!
//! | word | meaning |
//! |---|---|
//! | tick | one pass over all targets |
//! | sample | one thread's stack and state at one tick, with the time it stands for (its weight) |
//! | frame | one entry of a stack: a function of some kind, with file and line when known |
//! | stack | frames from the root (outermost caller) to the leaf; interned, so equal stacks have equal ids |
//! | self / total | weight of samples whose leaf is the function / in which it occurs at all |
//! | late | a tick began after its time |
//! | missed | a tick never happened |
//! | failed | a thread could not be read at a tick |
//! | truncated | a stack whose root was not reached |
//! | incomplete | a stack whose leaf was not reached: the thread ran on |
//! | lost | a sample dropped after capture |
//! | skipped | a thread deliberately not looked at |
#![forbid(unsafe_code)]

mod check;
pub mod diff;
mod file_name;
pub mod flame_graph;
pub mod folded;
mod frame;
mod import;
pub mod pprof;
mod profile;
mod stack;
mod state;
pub mod table;
mod timeline;
mod view;

pub use check::Inconsistency;
pub use file_name::FileNames;
pub use frame::{Frame, FrameKind};
pub use import::{Importer, TooLong};
pub use profile::{Counters, Process, ProcessId, Profile, Recorded, Sample, Thread, ThreadId, ThreadTotals};
pub use stack::{FrameId, Interner, StackId, StackTable};
pub use state::{RunState, Syscall};
pub use timeline::{AwakeTime, Seen, Timeline};
pub use view::{Clock, Code, Lines, Row, Threads, View, ViewOptions};

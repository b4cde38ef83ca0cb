//! What can go wrong when reading an interpreter.

use super::PythonVersion;
use crate::{Avma, MemoryError};

/// Why an interpreter, or one of its threads, could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PythonError {
    /// No layout is known for this version.
    #[error("CPython {0} is not supported (3.6 to 3.15 are)")]
    UnsupportedVersion(PythonVersion),
    /// From 3.13 on `_PyRuntime` begins with `_Py_DebugOffsets`, and these with the cookie `xdebugpy`.
    #[error("no debug offsets at {0:?}: it does not begin with \"xdebugpy\"")]
    NoDebugOffsets(Avma),
    /// The debug offsets are of another version than the interpreter was found to be.
    #[error("debug offsets are of CPython {found}, not {expected}")]
    OtherVersion {
        /// What the discovery said.
        expected: PythonVersion,
        /// What the debug offsets say.
        found: PythonVersion,
    },
    /// A debug offset that cannot be: a huge structure, or a field outside of its structure.
    #[error("debug offset {field} is {value:#x}, which cannot be")]
    BadDebugOffset {
        /// Group and field as in `_Py_DebugOffsets`.
        field: &'static str,
        /// What the target says.
        value: u64,
    },
    /// A part of the target could not be read.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A pointer that cannot be one: NULL where there must be something, or misaligned.
    #[error("{what} cannot be at {address:?}")]
    BadPointer {
        /// Which structure should have been there.
        what: &'static str,
        /// The pointer's value.
        address: Avma,
    },
    /// A linked list of the target leads back into itself.
    #[error("the list of {0} leads back into itself")]
    Loop(&'static str),
    /// More of something than we are ready to believe.
    #[error("more {0} than we are ready to read")]
    TooMany(&'static str),
    /// The thread state is no longer that of the thread it was.
    #[error("the thread state at {0:?} belongs to another thread now")]
    ThreadGone(Avma),
    /// Frames and entries into the interpreter do not fit together: the chain was changing when it was read.
    #[error("the frame chain was being changed")]
    Torn,
}

//! Which CPython.

use std::fmt;

/// Version of a CPython interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PythonVersion {
    /// 3 for every supported interpreter.
    pub major: u8,
    /// The feature release; it decides the layout of the interpreter's structures.
    pub minor: u8,
    /// The bugfix release.
    pub patch: u8,
}

impl PythonVersion {
    /// The version in `PY_VERSION_HEX`: major, minor, patch and release level from the highest byte down.
    pub fn from_hex(hex: u32) -> PythonVersion {
        let [_, patch, minor, major] = hex.to_le_bytes();
        PythonVersion { major, minor, patch }
    }
}

impl fmt::Display for PythonVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

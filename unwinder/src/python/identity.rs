//! Telling a code object from another one that lives, or lived, at the same address.
//!
//! Code objects die and their memory is used again, by an `exec` in a loop as often as a sampler looks; and the
//! names of the new one may again be where the names of the old one were. So what is read of a code object
//! in each capture must tell them apart without looking up its names:
//!
//! - all its constant fields (first line, sizes, pointers to names, file, line table);
//! - among these from 3.12 on `co_version`, a number that is given only once in a process;
//! - before that, the head of its name and of its file name: length, hash and first characters.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::layout::{CodeLayout, Layout};
use super::snapshot::{Piece, Snapshot, avma_at, field, u32_at};
use super::{PythonCapture, PythonError};
use crate::{Avma, Memory};

/// One code object, as a capture found it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CodeIdentity {
    pub(crate) address: Avma,
    pub(crate) ob_type: Avma,
    /// From `co_firstlineno` to the line table's pointer; unused bytes are 0.
    constant: [u8; CodeIdentity::CONSTANT_BYTES],
    /// Hash of the heads of its strings; 0 where `co_version` tells.
    heads: u64,
    pub(crate) tlbc: Avma,
}

/// Bytes of a string object that are compared: from its length on, so with its hash, state and first characters.
const HEAD: u64 = 0x60;
const PAGE: u64 = 4096;

impl CodeIdentity {
    /// Bytes from `co_firstlineno` to the end of the line table's pointer, in any version.
    pub(crate) const CONSTANT_BYTES: usize = 0x58;
    /// Bytes of a code object that are read, in any version.
    pub(crate) const MAX_EXTENT: usize = 0x200;

    /// From the first `layout.extent()` bytes of the code object.
    pub(crate) fn parse(address: Avma, bytes: &[u8], layout: &CodeLayout) -> CodeIdentity {
        let mut constant = [0; CodeIdentity::CONSTANT_BYTES];
        let found = bytes.get(layout.constant()).unwrap_or_default();
        for (to, from) in constant.iter_mut().zip(found) {
            *to = *from;
        }
        CodeIdentity {
            address,
            ob_type: avma_at(bytes, layout.ob_type),
            constant,
            heads: 0,
            tlbc: layout.tlbc.map_or(Avma(0), |at| avma_at(bytes, at)),
        }
    }

    fn constant_field(&self, layout: &CodeLayout, at: usize) -> &[u8] {
        at.checked_sub(layout.firstlineno).and_then(|at| self.constant.get(at..)).unwrap_or_default()
    }

    /// A pointer among the constant fields.
    pub(crate) fn pointer(&self, layout: &CodeLayout, at: usize) -> Avma {
        avma_at(self.constant_field(layout, at), 0)
    }

    /// `co_firstlineno`.
    pub(crate) fn first_line(&self, layout: &CodeLayout) -> u32 {
        u32_at(self.constant_field(layout, layout.firstlineno), 0)
    }

    /// The heads of its strings, where these are needed to tell it apart.
    fn string_heads(&self, layout: &Layout) -> Option<[Piece; 2]> {
        let code = &layout.code;
        // A process that has made 2^32 code objects stops counting, at 0.
        if code.version.is_some_and(|at| u32_at(self.constant_field(code, at), 0) != 0) {
            return None;
        }
        Some([code.qualname.unwrap_or(code.name), code.filename].map(|at| {
            let start = field(self.pointer(code, at), layout.text.str_length);
            // What follows a short string on its page is mapped, on the next page it may not be.
            let length = HEAD.min(PAGE - start.0 % PAGE);
            Piece::new(start, length as usize)
        }))
    }

    /// The identity with the heads of its strings, all of which `snapshot` holds.
    fn with_heads(self, layout: &Layout, snapshot: &Snapshot) -> CodeIdentity {
        let Some(heads) = self.string_heads(layout) else { return self };
        let mut hasher = FxHasher::default();
        for head in heads {
            snapshot.get(head).unwrap_or_default().hash(&mut hasher);
        }
        CodeIdentity { heads: hasher.finish(), ..self }
    }
}

/// Reads the identities of all code objects that the frames of `out` refer to: in no call when the hints knew
/// them, else in one for the code objects and one for their strings.
pub(crate) fn read_codes(
    layout: &Layout,
    memory: &impl Memory,
    out: &mut PythonCapture,
) -> Result<(), PythonError> {
    let scratch = &mut out.scratch;
    let extent = layout.code.extent();
    scratch.wanted.clear();
    scratch.wanted.extend(scratch.code_addresses.iter().map(|&code| Piece::new(code, extent)));
    scratch.used.extend_from_slice(&scratch.wanted);
    scratch.snapshot.fetch(&mut scratch.wanted, memory)?;
    for &address in &scratch.code_addresses {
        let bytes = scratch.snapshot.bytes(Piece::new(address, extent), memory)?;
        out.codes.push(CodeIdentity::parse(address, bytes, &layout.code));
    }
    scratch.wanted.clear();
    scratch.wanted.extend(out.codes.iter().filter_map(|code| code.string_heads(layout)).flatten());
    scratch.used.extend_from_slice(&scratch.wanted);
    scratch.snapshot.fetch(&mut scratch.wanted, memory)?;
    for code in &mut out.codes {
        *code = code.with_heads(layout, &scratch.snapshot);
    }
    Ok(())
}

/// The identity of the one code object at `address` now.
pub(crate) fn read_identity(
    address: Avma,
    layout: &Layout,
    snapshot: &mut Snapshot,
    memory: &impl Memory,
) -> Result<CodeIdentity, PythonError> {
    snapshot.clear();
    let bytes = snapshot.bytes(Piece::new(address, layout.code.extent()), memory)?;
    let identity = CodeIdentity::parse(address, bytes, &layout.code);
    if let Some(mut heads) = identity.string_heads(layout) {
        snapshot.fetch(&mut heads, memory)?;
    }
    Ok(identity.with_heads(layout, snapshot))
}

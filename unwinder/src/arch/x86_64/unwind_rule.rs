//! How to get from a frame to its caller, in eight bytes.
//!
//! The stack of a function with a frame pointer; one without has the same without the rbp column:
//!
//! ```text
//!   higher addresses
//!   CFA ──►  caller's frame            CFA = value of rsp in the caller, after the return
//!   CFA- 8   return address
//!   CFA-16   caller's rbp    ◄── rbp
//!   ...      locals, saved registers
//!            lowest used     ◄── rsp
//! ```

use std::num::NonZeroI16;

use super::Registers;

/// One row's meaning. Where nothing else is said, the caller's ip is the word at CFA - 8, the caller's sp is the
/// CFA, and `saved_bp` is the offset from the CFA at which the caller's rbp lies (`None`: rbp is unchanged).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum FrameRule {
    /// CFA = rsp + offset
    Sp { saved_bp: Option<NonZeroI16>, cfa_offset: i32 },
    /// CFA = rbp + offset
    Bp { saved_bp: Option<NonZeroI16>, cfa_offset: i32 },
    /// CFA = *(rbp + cfa_slot), caller's rbp = *(rbp + saved_bp): functions that realign their stack
    BpDeref { saved_bp: i16, cfa_slot: i32 },
    /// CFA = rsp + 8, or rsp + 16 from byte `pushed_at` of each 16-byte slot on: lazy-binding stubs
    Plt { pushed_at: u8 },
    /// Everything is in the `ucontext` at rsp: the return trampoline of a signal handler
    Signal,
    /// The return address is undefined: this is the thread's outermost frame
    End,
    /// A rule of the module's list of general rules
    General { index: u32 },
    /// The function's call frame information cannot be decoded
    Broken,
    /// No call frame information covers the address
    Uncovered,
}

const _: () = assert!(size_of::<FrameRule>() == 8);

impl FrameRule {
    /// Whether a rule can be executed only with a value for rbp; general rules find that out themselves.
    pub(crate) fn needs_bp(self) -> bool {
        matches!(self, FrameRule::Bp { .. } | FrameRule::BpDeref { .. })
    }
}

/// Where a row says the callee-saved registers other than rbp lie. They are not restored frame by frame: the few
/// rules that need one look it up in the frames below (`native::saved_registers`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct SavedRegisters {
    /// Offsets from the CFA, in the order of [`SavedRegisters::ORDER`]; zero for registers that are unchanged.
    offsets: [i16; Self::ORDER.len()],
    /// Bit per register that is saved in a way not expressed here, or not at all.
    lost: u8,
}

/// What a frame did with a callee-saved register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Saved {
    /// Nothing: its caller's value is its own.
    Unchanged,
    /// Its caller's value is the word at CFA + offset.
    AtCfa(i16),
    /// Its caller's value is not known.
    Lost,
}

impl SavedRegisters {
    /// Nothing saved.
    pub(crate) const NONE: SavedRegisters = SavedRegisters { offsets: [0; Self::ORDER.len()], lost: 0 };

    /// The registers a function must preserve (psABI figure 3.4): rbx, r12, r13, r14, r15.
    const ORDER: [u16; 5] = [Registers::RBX, 12, 13, 14, 15];

    pub(crate) fn get(&self, register: u16) -> Saved {
        let Some(place) = Self::ORDER.iter().position(|&one| one == register) else { return Saved::Lost };
        match self.offsets.get(place) {
            _ if self.lost & (1 << place) != 0 => Saved::Lost,
            None | Some(0) => Saved::Unchanged,
            Some(&offset) => Saved::AtCfa(offset),
        }
    }

    pub(super) fn set(&mut self, register: u16, saved: Saved) {
        let Some(place) = Self::ORDER.iter().position(|&one| one == register) else { return };
        let (offset, lost) = match saved {
            Saved::AtCfa(offset) => (offset, offset == 0),
            Saved::Unchanged => (0, false),
            Saved::Lost => (0, true),
        };
        if lost {
            self.lost |= 1 << place;
        }
        if let Some(slot) = self.offsets.get_mut(place) {
            *slot = offset;
        }
    }
}

//! The register file of a frame, in which *unknown* is a state of each register, not a value.

use super::PAGE_SIZE;
use crate::Avma;

/// Registers by their DWARF numbers (psABI table 3.36): 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp,
/// 7 rsp, 8-15 r8-r15; the instruction pointer and the stack pointer are always known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    /// Instruction pointer.
    pub ip: Avma,
    /// Stack pointer.
    pub sp: Avma,
    values: [u64; 16],
    known: u16,
}

impl Registers {
    /// DWARF number of rdx.
    pub const RDX: u16 = 1;
    /// DWARF number of rbx.
    pub const RBX: u16 = 3;
    /// DWARF number of rsi.
    pub const RSI: u16 = 4;
    /// DWARF number of rdi.
    pub const RDI: u16 = 5;
    /// DWARF number of rbp, the frame pointer where there is one.
    pub const RBP: u16 = 6;
    /// DWARF number of rsp.
    pub const RSP: u16 = 7;
    /// DWARF number of the return address column.
    pub const RETURN_ADDRESS: u16 = 16;

    /// Bytes below the stack pointer that belong to a frame all the same (psABI section 3.2.2).
    const RED_ZONE_BYTES: i64 = 128;

    /// Where a copy of the stack should begin: at the red zone. A leaf function may keep there what it likes, and
    /// in an epilogue a register that was just popped is, for call frame information, still in its slot. But not
    /// beyond the page that sp is in: the one below may not be mapped.
    pub fn stack_copy_start(&self) -> Avma {
        let page = Avma(self.sp.0 & !(PAGE_SIZE - 1));
        page.max(self.sp.offset(-Self::RED_ZONE_BYTES).min(self.sp))
    }

    /// Whether a function must preserve a register for its caller (psABI figure 3.4).
    pub(crate) fn is_callee_saved(register: u16) -> bool {
        matches!(register, Self::RBX | Self::RBP | 12..=15)
    }

    /// Only where and on which stack: what a blocked thread's `/proc/PID/task/TID/syscall` tells.
    pub fn new(ip: Avma, sp: Avma) -> Self {
        Registers { ip, sp, values: [0; 16], known: 0 }
    }

    /// The value of a register by DWARF number, if it is known.
    pub fn get(&self, register: u16) -> Option<u64> {
        match register {
            Self::RSP => Some(self.sp.0),
            Self::RETURN_ADDRESS => Some(self.ip.0),
            0..16 if self.known & (1 << register) != 0 => Some(self.values[usize::from(register)]),
            _ => None,
        }
    }

    /// Sets, or forgets, a register by DWARF number; numbers beyond the general registers are ignored.
    pub fn set(&mut self, register: u16, value: Option<u64>) {
        match (register, value) {
            (Self::RSP, Some(value)) => self.sp = Avma(value),
            (Self::RETURN_ADDRESS, Some(value)) => self.ip = Avma(value),
            (0..16, Some(value)) => {
                self.values[usize::from(register)] = value;
                self.known |= 1 << register;
            }
            (0..16, None) => self.known &= !(1 << register),
            _ => {}
        }
    }
}

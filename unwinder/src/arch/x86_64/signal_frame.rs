//! The frame that the kernel builds on a stack to call a signal handler.
//!
//! When the handler has returned to the trampoline, rsp points to the `ucontext`
//! (`arch/x86/include/uapi/asm/ucontext.h`, `sigcontext.h`; `struct rt_sigframe` in `arch/x86/include/asm/sigframe.h`):
//!
//! ```text
//!   rsp +   0  uc_flags, uc_link, uc_stack          40 bytes
//!       +  40  r8 ... r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip
//!       + 304  siginfo                             128 bytes
//!       + 432  end of what a handler may look at
//! ```

use super::Registers;

/// Bytes from rsp in the trampoline to the end of the siginfo.
pub(crate) const SIZE: u64 = 432;

/// Where the interrupted code's registers begin.
pub(crate) const REGISTERS_OFFSET: u64 = 40;

/// DWARF numbers of the saved registers, in the order of `struct sigcontext`.
pub(crate) const REGISTERS: [u16; 17] = [
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    Registers::RDI,
    Registers::RSI,
    Registers::RBP,
    Registers::RBX,
    Registers::RDX,
    0,
    2,
    Registers::RSP,
    Registers::RETURN_ADDRESS,
];

/// Offset from rsp in the trampoline at which a register of the interrupted code lies.
pub(crate) fn offset_of(register: u16) -> Option<u32> {
    let place = REGISTERS.iter().position(|&one| one == register)?;
    u32::try_from(REGISTERS_OFFSET as usize + 8 * place).ok()
}

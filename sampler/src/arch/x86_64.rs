//! x86_64: `struct user_regs_struct` (`arch/x86/include/asm/user_64.h`) and the system call convention
//! (psABI appendix A.2.1: rdi, rsi, rdx, r10, r8, r9).

use libc::user_regs_struct;
use nix::errno::Errno;
use stackclock_unwinder::{Avma, Registers};

/// The kernel-internal result that means "restart unless a handler runs" (`include/linux/errno.h`).
const ERESTARTNOHAND: i64 = 514;

/// Whether an ELF header (at least its first 20 bytes) is that of a program we can unwind: ELFCLASS64, EM_X86_64.
pub fn is_own_machine(elf_header: &[u8]) -> bool {
    const ELFCLASS64: u8 = 2;
    const EM_X86_64: [u8; 2] = 62u16.to_le_bytes();
    elf_header.get(4) == Some(&ELFCLASS64) && elf_header.get(18..20) == Some(&EM_X86_64)
}

/// All registers of a stopped thread.
pub fn registers_at_stop(raw: &user_regs_struct) -> Registers {
    let mut registers = Registers::new(Avma(raw.rip), Avma(raw.rsp));
    // In the order of their DWARF numbers, psABI table 3.36.
    let by_number = [
        raw.rax, raw.rdx, raw.rcx, raw.rbx, raw.rsi, raw.rdi, raw.rbp, raw.rsp, raw.r8, raw.r9, raw.r10,
        raw.r11, raw.r12, raw.r13, raw.r14, raw.r15,
    ];
    for (number, value) in (0..).zip(by_number) {
        registers.set(number, Some(value));
    }
    registers
}

/// What is known of the registers of a thread that sleeps in a system call: where it is, and the arguments.
pub fn registers_in_call(ip: Avma, sp: Avma, arguments: &[u64; 6]) -> Registers {
    const R8: u16 = 8;
    const R9: u16 = 9;
    const R10: u16 = 10;
    let mut registers = Registers::new(ip, sp);
    let order = [Registers::RDI, Registers::RSI, Registers::RDX, R10, R8, R9];
    for (number, &value) in order.into_iter().zip(arguments) {
        registers.set(number, Some(value));
    }
    registers
}

/// When the stop made one of `calls` return `EINTR`: the registers with which the kernel restarts the call
/// instead, unless a signal handler of the program's own is to run (`arch/x86/kernel/signal.c`,
/// `arch_do_signal_or_restart`).
pub fn restart_instead_of_eintr(raw: &user_regs_struct, calls: &[libc::c_long]) -> Option<user_regs_struct> {
    let interrupted =
        raw.rax as i64 == -i64::from(Errno::EINTR as i32) && calls.contains(&(raw.orig_rax as i64));
    interrupted.then_some(user_regs_struct { rax: (-ERESTARTNOHAND) as u64, ..*raw })
}

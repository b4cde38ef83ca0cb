//! Code that is recognised by its bytes, because no call frame information says what it is.

/// What a piece of code is, when its first instructions give it away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpecialCode {
    /// A signal handler returns here.
    SignalTrampoline,
    /// The first function of a user-level context returns here: nothing has called it.
    ContextRoot,
}

/// Longest pattern below.
pub(crate) const LONGEST_SPECIAL_CODE: usize = 9;

/// Looks at the code at a return address.
pub(crate) fn special_code(code: &[u8]) -> Option<SpecialCode> {
    match code {
        // mov $15, %rax; syscall (glibc's and musl's __restore_rt; 15 is rt_sigreturn)
        [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05, ..]
        // mov $15, %eax; syscall
        | [0xb8, 15, 0, 0, 0, 0x0f, 0x05, ..] => Some(SpecialCode::SignalTrampoline),
        // mov %rbx, %rsp; pop %rdi; test %rdi, %rdi (glibc's __start_context, sysdeps/unix/sysv/linux/x86_64)
        [0x48, 0x89, 0xdc, 0x5f, 0x48, 0x85, 0xff, ..]
        // mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi (the same, built for shadow stacks)
        | [0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, ..]
        // xor %rdi, %rdi; call _exit; hlt (Boost.Context's make_fcontext and brpc's bthread_make_fcontext)
        | [0x48, 0x31, 0xff, 0xe8, _, _, _, _, 0xf4, ..] => Some(SpecialCode::ContextRoot),
        _ => None,
    }
}

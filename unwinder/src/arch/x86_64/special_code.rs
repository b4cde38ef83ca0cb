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

/// Whether code at a file's `e_entry` begins as what the kernel jumps to does: it takes the stack pointer, or marks
/// the deepest frame (psABI 3.4.1). Linkers also put the first byte of code of a library there, which says nothing.
pub(crate) fn is_program_entry(code: &[u8]) -> bool {
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code); // endbr64
    matches!(
        code,
        // xor %ebp, %ebp; xor %rbp, %rbp; mov %rsp, %rdi
        [0x31, 0xed, ..] | [0x48, 0x31, 0xed, ..] | [0x48, 0x89, 0xe7, ..]
    )
}

#[cfg(test)]
mod tests {
    use super::{SpecialCode, is_program_entry, special_code};

    #[test]
    fn known_code_is_known_and_other_code_is_not() {
        // <__restore_rt>: 48 c7 c0 0f 00 00 00  mov $0xf,%rax; 0f 05  syscall; 0f 1f 80 ...  nopl
        let restore = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x1f];
        assert_eq!(special_code(&restore), Some(SpecialCode::SignalTrampoline));
        // <__start_context>: 48 89 dc  mov %rbx,%rsp; 5f  pop %rdi; 48 85 ff  test %rdi,%rdi; 74 07  je
        let context = [0x48, 0x89, 0xdc, 0x5f, 0x48, 0x85, 0xff, 0x74, 0x07];
        assert_eq!(special_code(&context), Some(SpecialCode::ContextRoot));
        // The end of make_fcontext: 48 31 ff  xor %rdi,%rdi; e8 ...  call _exit; f4  hlt
        let fcontext = [0x48, 0x31, 0xff, 0xe8, 1, 2, 3, 4, 0xf4];
        assert_eq!(special_code(&fcontext), Some(SpecialCode::ContextRoot));
        assert_eq!(special_code(&fcontext[..8]), None, "cut off");
        // mov $14,%rax; syscall is rt_sigprocmask
        assert_eq!(special_code(&[0x48, 0xc7, 0xc0, 0x0e, 0, 0, 0, 0x0f, 0x05]), None);
        assert_eq!(special_code(&[]), None);
    }

    #[test]
    fn entry_points_are_told_from_first_bytes_of_code() {
        assert!(is_program_entry(&[0x31, 0xed, 0x49, 0x89, 0xd1]), "glibc's _start");
        assert!(is_program_entry(&[0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed]), "the same with endbr64");
        assert!(is_program_entry(&[0x48, 0x89, 0xe7, 0xe8, 1, 2, 3, 4]), "ld.so's _start");
        assert!(is_program_entry(&[0x48, 0x31, 0xed, 0x48, 0x89, 0xe7]), "musl's _start");
        // lea ...(%rip), %rdi: deregister_tm_clones, where a library's code begins
        assert!(!is_program_entry(&[0x48, 0x8d, 0x3d, 1, 2, 3, 4]));
        assert!(!is_program_entry(&[]));
    }
}

# Hand-written frames of kinds that compilers seldom make. Built with: gcc -nostdlib -static -no-pie
# Prints `ready` and waits for input in `inner`.

        .text
        .globl _start
_start:                                 # outermost: no return address
        .cfi_startproc
        .cfi_undefined rip
        xor %ebp, %ebp
        call outer
        mov $60, %eax
        xor %edi, %edi
        syscall
        .cfi_endproc

outer:                                  # a frame pointer
        .cfi_startproc
        push %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov %rsp, %rbp
        .cfi_def_cfa_register rbp
        sub $0x20, %rsp
        call by_r13
        leave
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc

by_r13:                                 # realigned, CFA in a callee-saved register: a general rule
        .cfi_startproc
        push %r13
        .cfi_def_cfa_offset 16
        .cfi_offset r13, -16
        lea 16(%rsp), %r13
        .cfi_def_cfa r13, 0
        and $-64, %rsp
        sub $64, %rsp
        call saver
        lea -16(%r13), %rsp
        .cfi_def_cfa rsp, 16
        pop %r13
        .cfi_def_cfa_offset 8
        .cfi_restore r13
        ret
        .cfi_endproc

saver:                                  # keeps that register on the stack, and destroys it
        .cfi_startproc
        push %r13
        .cfi_def_cfa_offset 16
        .cfi_offset r13, -16
        xor %r13d, %r13d
        call by_expression
        pop %r13
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc

by_expression:                          # CFA by a DWARF expression: DW_OP_breg7 24; DW_OP_nop
        .cfi_startproc
        sub $16, %rsp
        .cfi_escape 0x0f, 0x03, 0x77, 0x18, 0x96
        call inner
        add $16, %rsp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc

inner:
        .cfi_startproc
        mov $1, %eax
        mov $1, %edi
        lea ready(%rip), %rsi
        mov $6, %edx
        syscall
        xor %eax, %eax
        xor %edi, %edi
        lea byte(%rip), %rsi
        mov $1, %edx
        syscall
        ret
        .cfi_endproc

        .data
ready:  .ascii "ready\n"
byte:   .byte 0

# A program without any call frame information, not even for its entry point. Built with: gcc -nostdlib -static
# Prints `ready` and waits for input in a leaf.

        .text
leaf:   mov $1, %eax
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

        .globl _start
_start: xor %ebp, %ebp
        call leaf
        mov $60, %eax
        xor %edi, %edi
        syscall

        .data
ready:  .ascii "ready\n"
byte:   .byte 0

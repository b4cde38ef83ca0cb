// Computes without end in assembly without call frame information: in the shape of OpenBLAS' kernels (a realigned
// buffer of 28 KiB, the old stack pointer in rbx, rbp used for numbers), in a function with pushes and two epilogues,
// and in a leaf that leaves the stack alone.
#include <cstdio>

asm(R"(
        .text
        .type kernel, @function
kernel:
        sub $0x60, %rsp
        mov %rbx, (%rsp)
        mov %rbp, 0x8(%rsp)
        mov %r12, 0x10(%rsp)
        mov %rsp, %rbx
        sub $0x7080, %rsp
        and $-4096, %rsp
        mov %rdi, 0x28(%rsp)
        mov $-1, %rbp
        mov %rdi, %r12
        cmp $0, %rdi
        je 3f
1:      lea 0x80(%rsp), %rsi
        mov $16, %rax
2:      vmovups %ymm0, (%rsi)
        add $0x20, %rsi
        dec %rax
        jne 2b
        add $3, %rbp
        dec %r12
        jne 1b
        mov 0x28(%rsp), %rax
3:      vzeroupper
        mov %rbx, %rsp
        mov (%rsp), %rbx
        mov 0x8(%rsp), %rbp
        mov 0x10(%rsp), %r12
        add $0x60, %rsp
        ret
        .size kernel, . - kernel

        .type pushes, @function
pushes:
        push %rbp
        push %rbx
        mov %rdi, %rbp
        mov $100, %ebx
1:      test $1, %dil
        je 2f
        dec %rdi
        dec %ebx
        jne 1b
        pop %rbx
        pop %rbp
        ret
2:      push %rdi
        add $8, %rsp
        pop %rbx
        pop %rbp
        ret
        .size pushes, . - pushes

        .type plain, @function
plain:
        mov $100, %eax
1:      dec %eax
        jne 1b
        ret
        .size plain, . - plain
)");

extern "C" void kernel(long);
extern "C" void pushes(long);
extern "C" void plain();

// A frame pointer, which must have come back from where the assembly keeps it.
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void inner(long n) {
  kernel(n % 64);
  pushes(n);
  plain();
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) static void outer(long n) {
  volatile char room[256];
  room[n % 256] = 1;
  inner(n);
  asm volatile("" ::: "memory");
}

static volatile unsigned long calls;

int main() {
  printf("inner %p\nouter %p\nmain %p\n", reinterpret_cast<void *>(inner), reinterpret_cast<void *>(outer),
         reinterpret_cast<void *>(main));
  printf("calls %p\nready\n", const_cast<void *>(static_cast<volatile void *>(&calls)));
  fflush(stdout);
  for (;; calls++) outer(static_cast<long>(calls));
}

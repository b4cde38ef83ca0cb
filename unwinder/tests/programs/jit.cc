// Waits for input below code that was written into anonymous memory, with a frame pointer and no call frame
// information, as a JIT's code has.
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) static void below_jit() {
  char byte;
  ssize_t got = read(0, &byte, 1);
  asm volatile("" ::"r"(got));
}

int main() {
  // push %rbp; mov %rsp,%rbp; sub $0x20,%rsp; call *%rdi; leave; ret
  const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xff, 0xd7, 0xc9, 0xc3};
  void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(memory, code, sizeof code);
  printf("below_jit %p\nmain %p\nready\n", reinterpret_cast<void *>(below_jit), reinterpret_cast<void *>(main));
  fflush(stdout);
  reinterpret_cast<void (*)(void (*)())>(memory)(below_jit);
  asm volatile("" ::: "memory");
  return 0;
}

// Waits for input on a user-level context (makecontext), below functions of its own.
#include <cstdio>
#include <ucontext.h>
#include <unistd.h>

static ucontext_t main_context, context;
static char stack[1 << 18];

__attribute__((noinline)) static void inner() {
  char byte;
  ssize_t got = read(0, &byte, 1);
  asm volatile("" ::"r"(got));
}

static void entry() {
  inner();
  asm volatile("" ::: "memory");
}

int main() {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = sizeof stack;
  context.uc_link = &main_context;
  makecontext(&context, entry, 0);
  printf("inner %p\nentry %p\nready\n", reinterpret_cast<void *>(inner), reinterpret_cast<void *>(entry));
  fflush(stdout);
  swapcontext(&main_context, &context);
}

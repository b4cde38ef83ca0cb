// Waits for input inside a signal handler that runs on another stack, which argument 1 puts `above` or `below`
// the thread's own, or that runs on the thread's own stack (`same`).
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t kStack = 1 << 20;
static bool use_alternate;
static char *alternate;

__attribute__((noinline)) static void in_handler() {
  char byte;
  ssize_t got = read(0, &byte, 1);
  asm volatile("" ::"r"(got));
}

static void handler(int) {
  in_handler();
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) static int interrupted(volatile int *divisor) {
  volatile int dividend = 100;
  return dividend / *divisor;
}

__attribute__((noinline)) static void *thread_main(void *zero) {
  if (use_alternate) {
    stack_t stack = {};
    stack.ss_sp = alternate;
    stack.ss_size = kStack;
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = use_alternate ? SA_ONSTACK : 0;
  sigaction(SIGFPE, &action, nullptr);
  printf("tid %d\n", gettid());
  printf("in_handler %p\nhandler %p\n", reinterpret_cast<void *>(in_handler), reinterpret_cast<void *>(handler));
  printf("interrupted %p\n", reinterpret_cast<void *>(interrupted));
  printf("thread_main %p\n", reinterpret_cast<void *>(thread_main));
  printf("ready\n");
  fflush(stdout);
  static int result;
  result = interrupted(static_cast<volatile int *>(zero));
  return &result;
}

int main(int, char **argv) {
  char *memory = static_cast<char *>(
      mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  bool above = strcmp(argv[1], "above") == 0;
  use_alternate = strcmp(argv[1], "same") != 0;
  alternate = above ? memory + kStack : memory;
  char *own = above ? memory : memory + kStack;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, own, kStack);
  static int zero = 0;
  pthread_t thread;
  pthread_create(&thread, &attributes, thread_main, &zero);
  pthread_join(thread, nullptr);
}

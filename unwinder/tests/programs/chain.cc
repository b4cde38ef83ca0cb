// A chain of functions that prints its own extents and then waits for input inside the innermost one.
#include <alloca.h>
#include <cstdio>
#include <cstring>
#include <signal.h>
#include <unistd.h>

static void wait_for_input() {
  char byte;
  ssize_t got = read(0, &byte, 1);
  asm volatile("" ::"r"(got));
}

__attribute__((noinline)) static int leaf(int n) {
  volatile char pad[40];
  pad[n & 31] = 1;
  wait_for_input();
  return pad[n & 31] + n;
}

__attribute__((noinline)) static int deep(int n) {
  if (n == 0) return leaf(1) + 1;
  int below = deep(n - 1);
  asm volatile("" : "+r"(below)::"memory");
  return below + n;
}

__attribute__((noinline)) static int with_alloca(int n) {
  volatile char *room = static_cast<volatile char *>(alloca(n));
  room[n - 1] = 2;
  int below = deep(n / 16);
  return below + room[n - 1];
}

__attribute__((noinline)) static int realigned(int n) {
  alignas(64) volatile char block[128];
  block[n & 63] = 3;
  int below = with_alloca(n);
  return below + block[n & 63];
}

__attribute__((noinline)) static int many_arguments(int a, int b, int c, int d, int e, int f, long g, long h, long i) {
  int below = realigned(a + b + c + d + e + f);
  return below + static_cast<int>(g + h + i);
}

int main(int argc, char **) {
  printf("leaf %p\n", reinterpret_cast<void *>(leaf));
  printf("deep %p\n", reinterpret_cast<void *>(deep));
  printf("with_alloca %p\n", reinterpret_cast<void *>(with_alloca));
  printf("realigned %p\n", reinterpret_cast<void *>(realigned));
  printf("many_arguments %p\n", reinterpret_cast<void *>(many_arguments));
  printf("main %p\n", reinterpret_cast<void *>(main));
  printf("ready\n");
  fflush(stdout);
  return many_arguments(argc * 90, 1, 2, 3, 0, 0, argc, argc, argc) & 1;
}

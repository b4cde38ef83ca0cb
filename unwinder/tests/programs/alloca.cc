// Waits for input directly below a function whose frame has no fixed size.
#include <alloca.h>
#include <cstdio>
#include <unistd.h>

__attribute__((noinline)) static long reader(int size) {
  char *room = static_cast<char *>(alloca(size));
  asm volatile("" ::"r"(room) : "memory");
  ssize_t got = read(0, room, 1);
  asm volatile("" : "+r"(got)::"memory");
  return got + room[0];
}

int main(int argc, char **) {
  printf("reader %p\nmain %p\nready\n", reinterpret_cast<void *>(reader), reinterpret_cast<void *>(main));
  fflush(stdout);
  return reader(argc * 100) & 1;
}

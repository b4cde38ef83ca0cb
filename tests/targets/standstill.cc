// Threads at which a snapshot could hang or lose its way: one is the parent in a vfork, which neither runs nor can be
// stopped until its child goes on (state D), and two have 256 KiB of stack, the one asleep and the other running.
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "protocol.h"

namespace {
std::atomic<int> in_place{0};
int held[2];  // the child of the vfork reads from it, until this process has ended

extern "C" __attribute__((noinline)) void vfork_waits() {
  in_place++;
  if (vfork() == 0) {
    close(held[1]);
    char byte;
    (void)!read(held[0], &byte, 1);
    _exit(0);
  }
}

extern "C" __attribute__((noinline)) void spin_at_depth() {
  in_place++;
  for (;;) asm volatile("");
}

extern "C" __attribute__((noinline)) void sleep_at_depth() {
  in_place++;
  pause();
}

extern "C" __attribute__((noinline)) void go_down(int frames, void (*there)()) {
  char bytes[1024];
  asm volatile("" : : "r"(bytes) : "memory");
  if (frames > 0) {
    go_down(frames - 1, there);
  } else {
    there();
  }
  asm volatile("" : : "r"(bytes) : "memory");  // no tail call
}

void start(const char* name, void (*function)()) {
  std::thread([=] {
    name_thread(name);
    function();
  }).detach();
}
}  // namespace

int main() {
  if (pipe(held) != 0) return 1;
  start("vfork", vfork_waits);
  start("deep-running", [] { go_down(256, spin_at_depth); });
  start("deep-asleep", [] { go_down(256, sleep_at_depth); });
  while (in_place < 3) usleep(1000);
  answer_until_end_of_input([] { return std::string("{}"); });
}

// `spinners N`: N threads named spin-0, spin-1, ... that compute without end, and count their turns.
#include <atomic>
#include <thread>

#include "protocol.h"

namespace {
std::atomic<long> turns{0};
std::atomic<int> started{0};
}  // namespace

extern "C" __attribute__((noinline)) void spin_for_ever() {
  for (volatile unsigned i = 0;; i = i + 1) {
    if (i % 1000000 == 0) turns++;
  }
}

int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < count; i++) {
    std::thread([i] {
      name_thread("spin-" + std::to_string(i));
      started++;
      spin_for_ever();
    }).detach();
  }
  while (started < count) std::this_thread::yield();
  answer_until_end_of_input([] { return "{\"turns\":" + std::to_string(turns) + "}"; });
}

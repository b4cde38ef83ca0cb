// Two threads, `victim` and `rival`, that both want CPU 0 all the time, so each has to wait for it.
// Their truth is the scheduler's.
#include <atomic>
#include <thread>

#include "protocol.h"

namespace {
std::atomic<int> victim_tid{0}, rival_tid{0};

void begin(const char* name, std::atomic<int>& tid) {
  name_thread(name);
  pin_to_cpu(0);
  tid = thread_id();
}
}  // namespace

extern "C" __attribute__((noinline)) void victim_spins() {
  for (volatile unsigned long turns = 0;; turns = turns + 1) {
  }
}

extern "C" __attribute__((noinline)) void rival_spins() {
  for (volatile unsigned long turns = 0;; turns = turns + 2) {
  }
}

int main() {
  std::thread([] { begin("victim", victim_tid); victim_spins(); }).detach();
  std::thread([] { begin("rival", rival_tid); rival_spins(); }).detach();
  while (victim_tid == 0 || rival_tid == 0) std::this_thread::yield();
  answer_until_end_of_input([] {
    Schedstat victim(victim_tid), rival(rival_tid);
    char text[200];
    snprintf(text, sizeof text,
             "{\"victim\":{\"cpu_ns\":%lld,\"wait_ns\":%lld},\"rival\":{\"cpu_ns\":%lld,\"wait_ns\":%lld}}",
             victim.cpu_ns, victim.wait_ns, rival.cpu_ns, rival.wait_ns);
    return std::string(text);
  });
}

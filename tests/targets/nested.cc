// The native half of nested.py. C linkage, so that a profile shows exactly these names.
#include <condition_variable>
#include <mutex>

#define FRAME extern "C" __attribute__((noinline))
// Keeps a call from becoming a jump, which would leave no frame.
#define NO_TAIL_CALL asm volatile("" ::: "memory")

FRAME void nested_inner(void (*python)()) {
  python();
  NO_TAIL_CALL;
}

FRAME int nested_entry(void (*python)()) {
  nested_inner(python);
  NO_TAIL_CALL;
  return 0;
}

FRAME void nested_wait() {
  static std::mutex mutex;
  static std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) never.wait(lock);
}

FRAME void nested_spin() {
  for (volatile unsigned long turns = 0;; turns = turns + 1) {
  }
}

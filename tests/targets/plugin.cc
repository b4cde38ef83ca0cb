// The library that dlopen.cc loads, uses and unloads: its one function runs for some milliseconds.
#include <time.h>

namespace {
long long now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}
}  // namespace

extern "C" __attribute__((noinline)) void plugin_work() {
  for (long long until = now_ns() + 20'000'000; now_ns() < until;) {
  }
}

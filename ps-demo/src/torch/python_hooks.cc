// What the trainer's Python code calls through ctypes.PyDLL. Not ops: a call of an op gives the GIL away and takes it
// back, which would cost a marked stretch of Python more than the mark is worth.
#include <cstdint>

#include "base/thread_name.h"
#include "perf/perf.h"

extern "C" {

// Timers measured in Python go into the same report as those of C++.
void psdemo_perf_record(const char* timer, uint64_t duration_ns) {
  if (!psdemo::perf::internal::recording.load(std::memory_order_relaxed)) return;
  psdemo::perf::Record(psdemo::perf::Register(timer), duration_ns);
}

// Python before 3.14 does not give the system its threads' names.
void psdemo_set_thread_name(const char* name) { psdemo::SetThreadName(pthread_self(), name); }
}

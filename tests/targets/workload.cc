// The native half of workload.py: a table that worker threads read without end, and threads that wait for work
// that never comes.
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace {
std::atomic<long> lookups{0};
std::mutex mutex;
std::condition_variable work_arrived;

class Table {
 public:
  __attribute__((noinline)) double lookup(unsigned first, int count) const {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += std::sqrt(rows_[(first + i * 2654435761u) % rows_.size()] + i);
    return sum;
  }

  // Deep on purpose: a profiler pays for every frame it walks.
  __attribute__((noinline)) double descend(int levels, int count) const {
    if (levels == 0) return lookup(count, count);
    double below = descend(levels - 1, count);
    asm volatile("" ::: "memory");
    return below + levels;
  }

 private:
  std::vector<float> rows_ = std::vector<float>(1 << 16, 1.0f);
};

void serve() {
  Table table;
  volatile double sink = 0;
  for (;;) {
    sink = sink + table.descend(30, 20000);
    if (++lookups % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void wait_for_work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) work_arrived.wait(lock);
}
}  // namespace

extern "C" {
void workload_start(int busy, int idle) {
  for (int i = 0; i < busy; i++) std::thread(serve).detach();
  for (int i = 0; i < idle; i++) std::thread(wait_for_work).detach();
}

long workload_lookups() { return lookups; }

double workload_lookup(int count) {
  static const Table table;
  return table.descend(10, count);
}
}

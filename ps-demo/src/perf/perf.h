// PERF_SCOPE("name") measures the wall-clock time until the end of the block.
//
// Every interval, and once at Stop(), the thread "perf-report" appends one window to the report: count, mean, P50, P99
// and maximum of each timer that ended in it. Percentiles are exact, since every sample is kept until its window is
// written. While no report is running a scope costs one load and a branch.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "perf/sample_log.h"
#include "perf/window.h"

namespace psdemo::perf {

using TimerId = uint16_t;

struct Options {
  std::string path;  // empty: no report
  std::chrono::milliseconds interval{5000};
  Format format = Format::kText;
  std::string role;  // "ps", "trainer", ...
};

// RECSTORE_PERF_REPORT_PATH, RECSTORE_PERF_INTERVAL_MS and RECSTORE_PERF_FORMAT (text or jsonl); the same names with
// PSDEMO_ come second. Throws std::invalid_argument on a value that makes no sense.
Options OptionsFromEnvironment(const std::string& role);
// Throws std::invalid_argument unless `name` is "text" or "jsonl".
Format ParseFormat(const std::string& name);

// Starts the reporter. Throws std::runtime_error if the report cannot be opened. A second call is ignored.
void Start(const Options& options);
// Writes the last window and stops the reporter; may be called twice.
void Stop();

// The id of a timer name; the same name always has the same id. Throws std::length_error beyond 65536 names.
TimerId Register(const std::string& name);
void Record(TimerId timer, uint64_t duration_ns);

namespace internal {
extern std::atomic<bool> recording;

inline uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}
}  // namespace internal

class Scope {
 public:
  explicit Scope(TimerId timer)
      : timer_(timer), start_ns_(internal::recording.load(std::memory_order_relaxed) ? internal::NowNs() : 0) {}
  ~Scope() {
    if (start_ns_ != 0) Record(timer_, internal::NowNs() - start_ns_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const TimerId timer_;
  const uint64_t start_ns_;
};

}  // namespace psdemo::perf

#define PSDEMO_CONCAT_INNER(a, b) a##b
#define PSDEMO_CONCAT(a, b) PSDEMO_CONCAT_INNER(a, b)
#define PERF_SCOPE(name)                                                                                   \
  static const ::psdemo::perf::TimerId PSDEMO_CONCAT(perf_id_, __LINE__) = ::psdemo::perf::Register(name); \
  const ::psdemo::perf::Scope PSDEMO_CONCAT(perf_scope_, __LINE__)(PSDEMO_CONCAT(perf_id_, __LINE__))

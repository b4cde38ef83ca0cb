// The statistics of one report window, with exact percentiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace psdemo::perf {

struct TimerStats {
  uint64_t count = 0;
  double mean_us = 0;
  double p50_us = 0;
  double p99_us = 0;
  double max_us = 0;
};

struct WindowHeader {
  uint64_t window = 0;
  std::string role;
  int pid = 0;
  double end_unix_s = 0;
  uint64_t span_ms = 0;
};

enum class Format { kText, kJsonLines };

// The nearest-rank percentile: the smallest value with at least `percent` % of all values at or below it. Orders
// `values` partially; `values` must not be empty.
uint64_t NearestRank(std::vector<uint64_t>* values, unsigned percent);

// `durations_ns` must not be empty; its order changes.
TimerStats Summarize(std::vector<uint64_t>* durations_ns);

struct NamedStats {
  std::string timer;
  TimerStats stats;
};

// A whole window as it is appended to the report.
std::string FormatWindow(Format format, const WindowHeader& header, const std::vector<NamedStats>& timers);

}  // namespace psdemo::perf

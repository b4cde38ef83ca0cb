// Figures over a set of durations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "perf/window.h"

namespace psdemo {

class Latencies {
 public:
  void Add(uint64_t duration_ns) { durations_ns_.push_back(duration_ns); }
  bool empty() const { return durations_ns_.empty(); }
  size_t count() const { return durations_ns_.size(); }

  double MeanUs() const {
    return std::accumulate(durations_ns_.begin(), durations_ns_.end(), 0.0) / 1e3 / durations_ns_.size();
  }
  double MaxUs() const { return *std::max_element(durations_ns_.begin(), durations_ns_.end()) / 1e3; }
  double MinUs() const { return *std::min_element(durations_ns_.begin(), durations_ns_.end()) / 1e3; }
  // Nearest rank: with 10 rounds, P95 and P99 are both the maximum.
  double PercentileUs(unsigned percent) const {
    std::vector<uint64_t> copy = durations_ns_;
    return perf::NearestRank(&copy, percent) / 1e3;
  }

 private:
  std::vector<uint64_t> durations_ns_;
};

}  // namespace psdemo

#include "perf/window.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace psdemo::perf {
namespace {

template <class... Args>
void AppendFormat(std::string* out, const char* format, Args... args) {
  char line[512];
  const int length = std::snprintf(line, sizeof line, format, args...);
  out->append(line, std::min<size_t>(length, sizeof line - 1));
}

}  // namespace

uint64_t NearestRank(std::vector<uint64_t>* values, unsigned percent) {
  const size_t rank = std::max<size_t>(1, (values->size() * percent + 99) / 100);
  std::nth_element(values->begin(), values->begin() + (rank - 1), values->end());
  return (*values)[rank - 1];
}

TimerStats Summarize(std::vector<uint64_t>* durations_ns) {
  TimerStats stats;
  stats.count = durations_ns->size();
  const double total_ns = std::accumulate(durations_ns->begin(), durations_ns->end(), 0.0);
  stats.mean_us = total_ns / 1e3 / stats.count;
  stats.p50_us = NearestRank(durations_ns, 50) / 1e3;
  stats.p99_us = NearestRank(durations_ns, 99) / 1e3;
  stats.max_us = *std::max_element(durations_ns->begin(), durations_ns->end()) / 1e3;
  return stats;
}

std::string FormatWindow(Format format, const WindowHeader& header, const std::vector<NamedStats>& timers) {
  const bool json = format == Format::kJsonLines;
  std::string out;
  AppendFormat(&out,
               json ? "{\"window\":%llu,\"role\":\"%s\",\"pid\":%d,\"end_unix\":%.3f,\"span_ms\":%llu,\"timers\":{"
                    : "# window=%llu role=%s pid=%d end_unix=%.3f span_ms=%llu\n",
               static_cast<unsigned long long>(header.window), header.role.c_str(), header.pid, header.end_unix_s,
               static_cast<unsigned long long>(header.span_ms));
  const char* separator = "";
  for (const NamedStats& timer : timers) {
    const TimerStats& s = timer.stats;
    const auto count = static_cast<unsigned long long>(s.count);
    if (json) {
      AppendFormat(&out, "%s\"%s\":{\"count\":%llu,\"mean_us\":%.3f,\"p50_us\":%.3f,\"p99_us\":%.3f,\"max_us\":%.3f}",
                   separator, timer.timer.c_str(), count, s.mean_us, s.p50_us, s.p99_us, s.max_us);
    } else {
      AppendFormat(&out, "%-36s count=%llu mean_us=%.1f p50_us=%.1f p99_us=%.1f max_us=%.1f\n", timer.timer.c_str(),
                   count, s.mean_us, s.p50_us, s.p99_us, s.max_us);
    }
    separator = ",";
  }
  out += json ? "}}\n" : "\n";
  return out;
}

}  // namespace psdemo::perf

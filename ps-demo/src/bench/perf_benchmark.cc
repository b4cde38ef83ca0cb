// perf_benchmark: what one PERF_SCOPE costs. Exits with 1 when the best of several runs is over the limit.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "base/flags.h"
#include "perf/perf.h"

namespace {

double NsPerScope(int64_t scopes) {
  const uint64_t start_ns = psdemo::perf::internal::NowNs();
  for (int64_t i = 0; i < scopes; ++i) {
    PERF_SCOPE("Benchmark.Scope");
  }
  return static_cast<double>(psdemo::perf::internal::NowNs() - start_ns) / scopes;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const psdemo::Flags flags(argc, argv, "perf_benchmark: what one PERF_SCOPE costs",
                              {{"scopes", "200000", "scopes in a run"},
                               {"runs", "15", "runs; the best one counts, since others may use the CPU too"},
                               {"limit_ns", "100", "the most that a scope may cost"}});
    const int64_t scopes = flags.Integer("scopes", 1, 1000000000);
    const int64_t limit_ns = flags.Integer("limit_ns", 1, 1000000);
    psdemo::perf::Options options;
    options.path = "/dev/null";
    options.interval = std::chrono::milliseconds(100);
    options.role = "benchmark";
    const double off_ns = NsPerScope(scopes);
    psdemo::perf::Start(options);
    double best_ns = NsPerScope(scopes);
    for (int64_t run = flags.Integer("runs", 1, 1000); run > 1; --run) best_ns = std::min(best_ns, NsPerScope(scopes));
    psdemo::perf::Stop();
    std::printf("perf_scope ns=%.1f limit_ns=%lld off_ns=%.1f\n", best_ns, static_cast<long long>(limit_ns), off_ns);
    return best_ns < limit_ns ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

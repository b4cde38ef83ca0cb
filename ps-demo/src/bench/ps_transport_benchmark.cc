// ps_transport_benchmark: Put and Get latency of a transport against running servers.
//
// A round is `iterations` times one Put and one Get of `batch_keys` keys. What was read last in a round must equal what
// was written, byte for byte.
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <vector>

#include "base/flags.h"
#include "bench/latencies.h"
#include "bench/rpc_report.h"
#include "client/client.h"
#include "client/client_flags.h"
#include "perf/perf.h"

namespace psdemo {
namespace {

enum class ReportMode { kSummary, kPerRound, kBoth };

struct Plan {
  std::string transport;
  int64_t iterations;
  int64_t rounds;
  int64_t warmup_rounds;
  size_t batch_keys;
  size_t dim;
  ReportMode report_mode;
};

ReportMode ParseReportMode(const std::string& name) {
  if (name == "summary") return ReportMode::kSummary;
  if (name == "per_round") return ReportMode::kPerRound;
  if (name == "both") return ReportMode::kBoth;
  throw std::invalid_argument("--report_mode=" + name + " is none of summary, per_round, both");
}

class Benchmark {
 public:
  Benchmark(const Plan& plan, Client* client)
      : plan_(plan), client_(client), written_(plan.batch_keys * plan.dim), read_(written_.size()) {
    for (size_t i = 0; i < plan.batch_keys; ++i) keys_.push_back(MakeKey(0, static_cast<uint32_t>(i)));
  }

  void Run() {
    for (int64_t i = 1; i <= plan_.warmup_rounds; ++i) PrintRound("warmup", i, plan_.warmup_rounds, Round(false));
    for (int64_t i = 1; i <= plan_.rounds; ++i) {
      const uint64_t elapsed_ns = Round(true);
      rounds_.Add(elapsed_ns);
      PrintRound("measure", i, plan_.rounds, elapsed_ns);
    }
    if (plan_.report_mode != ReportMode::kPerRound) PrintSummary();
  }

  const std::map<std::string, Latencies>& rpcs() const { return rpcs_; }

 private:
  uint64_t Round(bool measured) {
    const KeySpan keys{keys_.data(), keys_.size()};
    const uint64_t round_start_ns = perf::internal::NowNs();
    for (int64_t i = 0; i < plan_.iterations; ++i) {
      StampRows();
      const uint64_t start_ns = perf::internal::NowNs();
      client_->Put(keys, written_.data());
      const uint64_t put_ns = perf::internal::NowNs();
      const size_t missing = client_->Get(keys, read_.data());
      const uint64_t get_ns = perf::internal::NowNs();
      if (missing != 0) throw std::runtime_error(std::to_string(missing) + " keys are missing right after their Put");
      if (!measured) continue;
      rpcs_["Put"].Add(put_ns - start_ns);
      rpcs_["Get"].Add(get_ns - put_ns);
      rpcs_["step"].Add(get_ns - start_ns);
    }
    const uint64_t elapsed_ns = perf::internal::NowNs() - round_start_ns;
    if (std::memcmp(written_.data(), read_.data(), written_.size() * sizeof(float)) != 0) {
      throw std::runtime_error("the rows read differ from the rows written");
    }
    return elapsed_ns;
  }

  // Makes every Put different from the one before, in every row.
  void StampRows() {
    ++stamp_;
    for (size_t i = 0; i < written_.size(); ++i) written_[i] = stamp_ + static_cast<float>(i);
  }

  void PrintRound(const char* phase, int64_t round, int64_t rounds, uint64_t elapsed_ns) const {
    if (plan_.report_mode == ReportMode::kSummary) return;
    std::printf("transport=%s phase=%s round=%lld/%lld elapsed_us=%.0f\n", plan_.transport.c_str(), phase,
                static_cast<long long>(round), static_cast<long long>(rounds), elapsed_ns / 1e3);
  }

  void PrintSummary() const {
    const double mean_us = rounds_.MeanUs();
    const double ops_per_s = plan_.iterations * 2 / (mean_us / 1e6);
    std::printf(
        "transport=%s phase=measure summary rounds=%lld iterations=%lld batch_keys=%zu mean_us=%.0f p50_us=%.0f "
        "p95_us=%.0f p99_us=%.0f ops/s=%.0f key_ops/s=%.0f\n",
        plan_.transport.c_str(), static_cast<long long>(plan_.rounds), static_cast<long long>(plan_.iterations),
        plan_.batch_keys, mean_us, rounds_.PercentileUs(50), rounds_.PercentileUs(95), rounds_.PercentileUs(99),
        ops_per_s, ops_per_s * plan_.batch_keys);
    if (plan_.rounds < 20) {
      std::printf("note: percentiles are nearest-rank over %lld rounds, so p95 and p99 are the slowest round\n",
                  static_cast<long long>(plan_.rounds));
    }
  }

  const Plan plan_;
  Client* const client_;
  std::vector<uint64_t> keys_;
  std::vector<float> written_;
  std::vector<float> read_;
  float stamp_ = 0;
  Latencies rounds_;
  std::map<std::string, Latencies> rpcs_;
};

Flags ParseFlags(int argc, char** argv) {
  std::vector<FlagSpec> specs = ClientFlagSpecs();
  const std::vector<FlagSpec> own = {{"iterations", "300", "Put+Get pairs in a round"},
                                     {"rounds", "10", "measured rounds"},
                                     {"warmup_rounds", "2", "rounds before them"},
                                     {"batch_keys", "500", "keys in each Put and Get"},
                                     {"report_mode", "summary", "summary, per_round or both"},
                                     {"rpc_report", "", "write Average/Max/Min per RPC and per step to this file"}};
  specs.insert(specs.end(), own.begin(), own.end());
  return Flags(argc, argv,
               "ps_transport_benchmark: Put and Get latency of a transport\n"
               "ps_transport_benchmark --compare BEFORE AFTER: the difference between two --rpc_report files",
               specs);
}

void RunBenchmark(const Flags& flags) {
  const ClientOptions options = ClientOptionsFrom(flags);
  Plan plan;
  plan.transport = options.transport;
  plan.iterations = flags.Integer("iterations", 1, 100000000);
  plan.rounds = flags.Integer("rounds", 1, 1000000);
  plan.warmup_rounds = flags.Integer("warmup_rounds", 0, 1000000);
  plan.batch_keys = flags.Integer("batch_keys", 1, 1 << 24);
  plan.dim = options.dim;
  plan.report_mode = ParseReportMode(flags.Text("report_mode"));
  perf::Start(perf::OptionsFromEnvironment("bench"));
  const std::unique_ptr<Client> client = MakeClient(options);
  Benchmark benchmark(plan, client.get());
  benchmark.Run();
  perf::Stop();
  const std::string rpc_report = flags.Text("rpc_report");
  if (!rpc_report.empty()) WriteRpcReport(rpc_report, benchmark.rpcs());
}

}  // namespace
}  // namespace psdemo

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::strcmp(argv[1], "--compare") == 0) {
      std::fputs(psdemo::CompareRpcReports(argv[2], argv[3]).c_str(), stdout);
    } else {
      psdemo::RunBenchmark(psdemo::ParseFlags(argc, argv));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}

#include "bench/rpc_report.h"

#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace psdemo {
namespace {

struct Row {
  double avg_us = 0;
  double max_us = 0;
  double min_us = 0;
};

std::map<std::string, Row> ReadRpcReport(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::map<std::string, Row> rows;
  std::string line;
  while (std::getline(file, line)) {
    char rpc[64];
    unsigned long long count = 0;
    Row row;
    if (std::sscanf(line.c_str(), "rpc=%63s count=%llu avg_us=%lf max_us=%lf min_us=%lf", rpc, &count, &row.avg_us,
                    &row.max_us, &row.min_us) != 5) {
      throw std::runtime_error(path + ": not a line of an RPC report: '" + line + "'");
    }
    rows[rpc] = row;
  }
  if (rows.empty()) throw std::runtime_error(path + ": an empty RPC report");
  return rows;
}

void AppendComparison(std::string* table, const std::string& rpc, const char* figure, double before, double after) {
  char line[160];
  std::snprintf(line, sizeof line, "%-8s %-8s %12.1f %12.1f %9.1f%%\n", rpc.c_str(), figure, before, after,
                before > 0 ? (before - after) / before * 100 : 0.0);
  *table += line;
}

}  // namespace

void WriteRpcReport(const std::string& path, const std::map<std::string, Latencies>& rpcs) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  for (const auto& [rpc, latencies] : rpcs) {
    std::fprintf(file, "rpc=%s count=%zu avg_us=%.1f max_us=%.1f min_us=%.1f\n", rpc.c_str(), latencies.count(),
                 latencies.MeanUs(), latencies.MaxUs(), latencies.MinUs());
  }
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

std::string CompareRpcReports(const std::string& before_path, const std::string& after_path) {
  const auto before = ReadRpcReport(before_path);
  const auto after = ReadRpcReport(after_path);
  std::string table = "RPC      figure     before us     after us  reduction\n";
  for (const auto& [rpc, old_row] : before) {
    const auto found = after.find(rpc);
    if (found == after.end()) throw std::runtime_error(after_path + ": has no rpc=" + rpc);
    AppendComparison(&table, rpc, "Average", old_row.avg_us, found->second.avg_us);
    AppendComparison(&table, rpc, "Max", old_row.max_us, found->second.max_us);
    AppendComparison(&table, rpc, "Min", old_row.min_us, found->second.min_us);
  }
  return table;
}

}  // namespace psdemo

// Average / Max / Min per RPC and per step (all RPCs of one request): written by one run, compared between two.
//
//   rpc=Put count=3000 avg_us=61.2 max_us=812.0 min_us=44.1
//   rpc=Get ...
//   rpc=step ...
#pragma once

#include <map>
#include <string>

#include "bench/latencies.h"

namespace psdemo {

// Throws std::runtime_error if the file cannot be written.
void WriteRpcReport(const std::string& path, const std::map<std::string, Latencies>& rpcs);

// A table of both reports with the reduction in percent. Throws std::runtime_error if a file cannot be read or has a
// line that is not part of a report.
std::string CompareRpcReports(const std::string& before_path, const std::string& after_path);

}  // namespace psdemo

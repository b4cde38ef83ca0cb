#include "torch/client_op.h"

#include <stdexcept>

#include "faults/spec.h"
#include "perf/perf.h"

namespace psdemo {
namespace {

// Fault nested-vector: a heap block per row, grown one float at a time.
__attribute__((noinline)) std::vector<std::vector<float>> BuildNested(const float* rows, size_t keys, size_t dim) {
  std::vector<std::vector<float>> nested;
  for (size_t i = 0; i < keys; ++i) {
    nested.emplace_back();
    for (size_t d = 0; d < dim; ++d) nested.back().push_back(rows[i * dim + d]);
  }
  return nested;
}

}  // namespace

ClientOp::ClientOp(ClientOptions options, const std::vector<std::string>& faults) : options_(std::move(options)) {
  for (const std::string& text : faults) {
    const FaultSpec fault = ParseFault(text);
    if (fault.name == "device-query") {
      const auto file = fault.parameters.find("file");
      if (file == fault.parameters.end()) throw std::invalid_argument("fault device-query needs file=PATH");
      device_query_ = std::make_unique<DeviceQuery>(file->second, fault.Integer("reps", 100, 1, 1000000));
    } else if (fault.name == "hot-shard") {
      options_.hot_shard_skew = fault.Fraction("skew", 0.9);
    } else if (fault.name == "nested-vector") {
      nested_vector_ = true;
    } else {
      throw std::invalid_argument("no client fault '" + fault.name +
                                  "' (there are device-query, hot-shard, nested-vector)");
    }
  }
  client_ = MakeClient(options_);
}

void ClientOp::EmbRead(KeySpan keys, float* rows) {
  PERF_SCOPE("ClientOp.EmbRead.Total");
  client_->Get(keys, rows);
}

void ClientOp::EmbWrite(KeySpan keys, const float* rows) {
  PERF_SCOPE("ClientOp.EmbWrite.Total");
  std::vector<float> owned;
  {
    PERF_SCOPE("ClientOp.EmbWrite.BuildVector");
    owned = BuildVector(rows, keys.size);
  }
  client_->Put(keys, owned.data());
}

void ClientOp::EmbUpdate(KeySpan keys, const float* gradients, float learning_rate) {
  PERF_SCOPE("ClientOp.EmbUpdate.Total");
  std::vector<float> owned;
  {
    PERF_SCOPE("ClientOp.EmbUpdate.BuildVector");
    owned = BuildVector(gradients, keys.size);
  }
  client_->Update(keys, owned.data(), learning_rate);
}

void ClientOp::BeforeBackgroundRead() {
  if (device_query_ != nullptr) device_query_->QueryDeviceProperties();
}

__attribute__((noinline)) std::vector<float> ClientOp::BuildVector(const float* rows, size_t keys) const {
  if (!nested_vector_) return std::vector<float>(rows, rows + keys * dim());
  std::vector<float> flat;
  for (const std::vector<float>& row : BuildNested(rows, keys, dim())) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

}  // namespace psdemo

// The layer between an op's tensors and the client: owned vectors, and the faults that live on this side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "faults/device_query.h"

namespace psdemo {

class ClientOp {
 public:
  // Takes the faults device-query, hot-shard and nested-vector from `faults` (name[:k=v,...] each); throws
  // std::invalid_argument on any other.
  ClientOp(ClientOptions options, const std::vector<std::string>& faults);

  // Each throws PsError as Client does. `rows` and `gradients` hold dim() floats per key.
  void EmbRead(KeySpan keys, float* rows);
  void EmbWrite(KeySpan keys, const float* rows);
  void EmbUpdate(KeySpan keys, const float* gradients, float learning_rate);

  // The fault device-query, if it is on; the I/O thread calls this before each read.
  void BeforeBackgroundRead();

  size_t dim() const { return options_.dim; }

 private:
  std::vector<float> BuildVector(const float* rows, size_t keys) const;

  ClientOptions options_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<DeviceQuery> device_query_;
  bool nested_vector_ = false;
};

}  // namespace psdemo

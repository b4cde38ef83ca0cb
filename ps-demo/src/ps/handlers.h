// What the server does with a request, whatever transport brought it: check it wholly, then touch the store.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "faults/server_faults.h"
#include "kv/engine.h"

namespace psdemo {

struct ServerLimits {
  uint32_t tables = 26;
  uint32_t dim = 16;
  uint64_t max_batch_keys = 65536;
};

class Handlers {
 public:
  struct Options {
    ServerLimits limits;
    std::string checkpoint_dir;  // empty: the checkpoint command is refused
    std::function<void()> quit;
  };

  Handlers(Options options, KvEngine* engine, ServerFaults* faults);

  // `rows` must hold limits().dim floats per key; callers size it only after Check.
  Status Get(KeySpan keys, uint32_t dim, float* rows, size_t* missing);
  Status Put(KeySpan keys, uint32_t dim, const float* rows, size_t row_bytes);
  Status Update(KeySpan keys, uint32_t dim, const float* gradients, size_t gradient_bytes, float learning_rate);

  // Whether a request with these keys and this dimension would be accepted.
  Status Check(KeySpan keys, uint32_t dim) const;

  std::string Ready() const;
  std::string Stats() const;
  Status FaultOn(const std::string& spec) { return faults_->Enable(spec); }
  Status FaultOff(const std::string& name) { return faults_->Disable(name); }
  Status Checkpoint(const std::string& file_name, std::string* path);
  void Quit() const { options_.quit(); }

  const ServerLimits& limits() const { return options_.limits; }

 private:
  // Every request passes here first.
  Status Common(KeySpan keys, uint32_t dim, std::atomic<uint64_t>* counter);

  const Options options_;
  KvEngine* const engine_;
  ServerFaults* const faults_;
  std::atomic<uint64_t> gets_{0}, puts_{0}, updates_{0}, refused_{0};
};

}  // namespace psdemo

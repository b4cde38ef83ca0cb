// The embedding store behind a server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/keys.h"
#include "base/status.h"
#include "faults/server_faults.h"

namespace psdemo {

// All calls are thread-safe. Rows are `dim` floats each, in the order of the keys; a row is always read and written
// whole, but a batch is not atomic.
class KvEngine {
 public:
  virtual ~KvEngine() = default;

  // Fills `rows`; missing keys read as zeros and are counted in `missing`.
  virtual Status BatchGet(KeySpan keys, float* rows, size_t* missing) = 0;
  virtual Status KVPutAll(KeySpan keys, const float* rows) = 0;
  // row -= learning_rate * gradient; a missing row starts from zeros.
  virtual Status KVUpdateAll(KeySpan keys, const float* gradients, float learning_rate) = 0;
  virtual size_t RowCount() = 0;
  // Writes all rows to `path`, which appears only when it is complete.
  virtual Status Checkpoint(const std::string& path) = 0;
};

struct EngineOptions {
  size_t dim = 16;
  size_t shards = 64;
  std::string path;   // where RocksDB keeps its files
  bool sync = false;  // RocksDB: write the log to disk before answering
};

// In memory. `faults` must outlive the engine.
std::unique_ptr<KvEngine> MakeMemoryEngine(const EngineOptions& options, ServerFaults* faults);
// Throws std::runtime_error if the database cannot be opened, or this build has no RocksDB.
std::unique_ptr<KvEngine> MakeRocksEngine(const EngineOptions& options, ServerFaults* faults);

}  // namespace psdemo

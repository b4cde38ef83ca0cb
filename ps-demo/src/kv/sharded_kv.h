// The in-memory store: S shards, each with its own mutex, hash map and arena of rows.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kv/engine.h"

namespace psdemo {

class ShardedKv : public KvEngine {
 public:
  ShardedKv(const EngineOptions& options, ServerFaults* faults);

  Status BatchGet(KeySpan keys, float* rows, size_t* missing) override;
  Status KVPutAll(KeySpan keys, const float* rows) override;
  Status KVUpdateAll(KeySpan keys, const float* gradients, float learning_rate) override;
  size_t RowCount() override;
  Status Checkpoint(const std::string& path) override;

 private:
  // Rows live in blocks that never move, so a map entry stays valid while the arena grows.
  class Shard {
   public:
    std::mutex mutex;

    float* Find(uint64_t key);
    // The row of `key`, zeros if it is new.
    float* FindOrCreate(uint64_t key, size_t dim);
    const std::unordered_map<uint64_t, float*>& rows() const { return rows_; }

   private:
    static constexpr size_t kRowsPerBlock = 1024;
    std::unordered_map<uint64_t, float*> rows_;
    std::vector<std::unique_ptr<float[]>> blocks_;
    size_t used_in_last_block_ = kRowsPerBlock;
  };

  // Calls visit(shard, position of the key in the batch) for every key, shard by shard, under the shard's mutex.
  template <class Visit>
  void ForShards(KeySpan keys, Visit&& visit);
  template <class Visit>
  void VisitShards(KeySpan keys, Visit&& visit);

  const size_t dim_;
  ServerFaults* const faults_;
  std::vector<Shard> shards_;
};

}  // namespace psdemo

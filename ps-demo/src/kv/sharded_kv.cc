#include "kv/sharded_kv.h"

#include <algorithm>
#include <cstring>

#include "kv/checkpoint.h"
#include "perf/perf.h"

namespace psdemo {

ShardedKv::ShardedKv(const EngineOptions& options, ServerFaults* faults)
    : dim_(options.dim), faults_(faults), shards_(options.shards) {}

float* ShardedKv::Shard::Find(uint64_t key) {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : found->second;
}

float* ShardedKv::Shard::FindOrCreate(uint64_t key, size_t dim) {
  float*& row = rows_[key];
  if (row == nullptr) {
    if (used_in_last_block_ == kRowsPerBlock) {
      blocks_.push_back(std::make_unique<float[]>(kRowsPerBlock * dim));
      used_in_last_block_ = 0;
    }
    row = blocks_.back().get() + dim * used_in_last_block_++;
  }
  return row;
}

template <class Visit>
void ShardedKv::VisitShards(KeySpan keys, Visit&& visit) {
  // Positions grouped by shard with a counting sort: each mutex is taken once per batch.
  std::vector<uint32_t> start(shards_.size() + 1);
  std::vector<uint32_t> shard_of(keys.size);
  for (size_t i = 0; i < keys.size; ++i) {
    shard_of[i] = static_cast<uint32_t>((MixKey(keys[i]) >> 32) % shards_.size());
    ++start[shard_of[i] + 1];
  }
  for (size_t s = 0; s < shards_.size(); ++s) start[s + 1] += start[s];
  std::vector<uint32_t> positions(keys.size);
  std::vector<uint32_t> next(start.begin(), start.end() - 1);
  for (size_t i = 0; i < keys.size; ++i) positions[next[shard_of[i]]++] = static_cast<uint32_t>(i);

  for (size_t s = 0; s < shards_.size(); ++s) {
    if (start[s] == start[s + 1]) continue;
    const std::lock_guard<std::mutex> lock(shards_[s].mutex);
    for (uint32_t p = start[s]; p < start[s + 1]; ++p) visit(&shards_[s], positions[p]);
  }
}

template <class Visit>
__attribute__((noinline)) void ShardedKv::ForShards(KeySpan keys, Visit&& visit) {
  const int64_t hold_us = faults_->shard_lock_hold_us();
  if (hold_us == 0) {
    VisitShards(keys, visit);
    return;
  }
  std::unique_lock<std::mutex> lock(faults_->shard_lock(), std::defer_lock);
  {
    PERF_SCOPE("Fault.ShardLock.Wait");
    lock.lock();
  }
  PERF_SCOPE("Fault.ShardLock.Hold");
  ServerFaults::HoldWork(hold_us);
  VisitShards(keys, visit);
}

Status ShardedKv::BatchGet(KeySpan keys, float* rows, size_t* missing) {
  *missing = 0;
  ForShards(keys, [&](Shard* shard, size_t i) {
    const float* row = shard->Find(keys[i]);
    if (row != nullptr) {
      std::memcpy(rows + i * dim_, row, dim_ * sizeof(float));
    } else {
      std::memset(rows + i * dim_, 0, dim_ * sizeof(float));
      ++*missing;
    }
  });
  return Status::Ok();
}

Status ShardedKv::KVPutAll(KeySpan keys, const float* rows) {
  ForShards(keys, [&](Shard* shard, size_t i) {
    std::memcpy(shard->FindOrCreate(keys[i], dim_), rows + i * dim_, dim_ * sizeof(float));
  });
  return Status::Ok();
}

Status ShardedKv::KVUpdateAll(KeySpan keys, const float* gradients, float learning_rate) {
  ForShards(keys, [&](Shard* shard, size_t i) {
    float* row = shard->FindOrCreate(keys[i], dim_);
    const float* gradient = gradients + i * dim_;
    for (size_t d = 0; d < dim_; ++d) row[d] -= learning_rate * gradient[d];
  });
  return Status::Ok();
}

size_t ShardedKv::RowCount() {
  size_t rows = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard<std::mutex> lock(shard.mutex);
    rows += shard.rows().size();
  }
  return rows;
}

Status ShardedKv::Checkpoint(const std::string& path) {
  CheckpointWriter writer(path, dim_);
  for (Shard& shard : shards_) {
    const std::lock_guard<std::mutex> lock(shard.mutex);
    for (const auto& [key, row] : shard.rows()) writer.Add(key, row);
  }
  return writer.Finish();
}

std::unique_ptr<KvEngine> MakeMemoryEngine(const EngineOptions& options, ServerFaults* faults) {
  return std::make_unique<ShardedKv>(options, faults);
}

}  // namespace psdemo

// The checkpoint file of the in-memory store.
//
//   "PSDEMO1\n"  u64 dim  u64 rows  { u64 key  f32[dim] } * rows        little-endian
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/status.h"
#include "kv/engine.h"

namespace psdemo {

// Writes beside the final path and renames at the end, so that a checkpoint is whole or absent.
class CheckpointWriter {
 public:
  CheckpointWriter(std::string path, size_t dim);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  void Add(uint64_t key, const float* row);
  // The first error of all writes, or success once the file is on disk under its name.
  Status Finish();

 private:
  void Write(const void* data, size_t size);

  const std::string path_;
  const std::string temporary_path_;
  const size_t dim_;
  uint64_t rows_ = 0;
  int error_ = 0;
  std::FILE* file_;
};

// Puts every row of the file into `engine`. Refuses a file of another dimension, and a truncated one before any row of
// it is stored.
Status RestoreCheckpoint(const std::string& path, size_t dim, KvEngine* engine);

}  // namespace psdemo

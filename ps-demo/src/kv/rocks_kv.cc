// The RocksDB store (--kv=rocksdb): a row is a value of dim floats under its big-endian key, so that a table's rows
// lie together.
#include <endian.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "kv/engine.h"
#include "perf/perf.h"

namespace psdemo {
namespace {

Status FromRocks(const rocksdb::Status& status) {
  if (status.ok()) return Status::Ok();
  return {Code::kInternal, "RocksDB: " + status.ToString()};
}

class RocksKv : public KvEngine {
 public:
  RocksKv(const EngineOptions& options, ServerFaults* faults)
      : dim_(options.dim), sync_(options.sync), faults_(faults) {
    if (options.path.empty()) throw std::runtime_error("--kv=rocksdb needs --kv_path");
    rocksdb::Options rocks;
    rocks.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(rocks, options.path, &db);
    if (!status.ok()) throw std::runtime_error("cannot open " + options.path + ": " + status.ToString());
    db_.reset(db);
  }

  Status BatchGet(KeySpan keys, float* rows, size_t* missing) override {
    *missing = 0;
    std::vector<uint64_t> encoded(keys.size);
    std::vector<rocksdb::Slice> slices(keys.size);
    for (size_t i = 0; i < keys.size; ++i) {
      encoded[i] = htobe64(keys[i]);
      slices[i] = rocksdb::Slice(reinterpret_cast<const char*>(&encoded[i]), sizeof encoded[i]);
    }
    std::vector<rocksdb::PinnableSlice> values(keys.size);
    std::vector<rocksdb::Status> statuses(keys.size);
    db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), keys.size, slices.data(), values.data(),
                  statuses.data());
    const size_t row_bytes = dim_ * sizeof(float);
    for (size_t i = 0; i < keys.size; ++i) {
      if (statuses[i].IsNotFound()) {
        std::memset(rows + i * dim_, 0, row_bytes);
        ++*missing;
      } else if (!statuses[i].ok()) {
        return FromRocks(statuses[i]);
      } else if (values[i].size() != row_bytes) {
        return {Code::kInternal, "RocksDB: a stored row has " + std::to_string(values[i].size()) +
                                     " bytes; was it written with another --dim?"};
      } else {
        std::memcpy(rows + i * dim_, values[i].data(), row_bytes);
      }
    }
    return Status::Ok();
  }

  Status KVPutAll(KeySpan keys, const float* rows) override {
    rocksdb::WriteBatch batch;
    const size_t row_bytes = dim_ * sizeof(float);
    for (size_t i = 0; i < keys.size; ++i) {
      const uint64_t encoded = htobe64(keys[i]);
      batch.Put(rocksdb::Slice(reinterpret_cast<const char*>(&encoded), sizeof encoded),
                rocksdb::Slice(reinterpret_cast<const char*>(rows + i * dim_), row_bytes));
    }
    rocksdb::WriteOptions write;
    write.sync = sync_ || faults_->wal_sync();
    PERF_SCOPE("KV RocksWrite");
    return FromRocks(db_->Write(write, &batch));
  }

  Status KVUpdateAll(KeySpan keys, const float* gradients, float learning_rate) override {
    // Read, change, write: one update at a time, or two of them would lose a gradient.
    const std::lock_guard<std::mutex> lock(update_mutex_);
    std::vector<float> rows(keys.size * dim_);
    size_t missing = 0;
    const Status status = BatchGet(keys, rows.data(), &missing);
    if (!status.ok()) return status;
    for (size_t i = 0; i < rows.size(); ++i) rows[i] -= learning_rate * gradients[i];
    return KVPutAll(keys, rows.data());
  }

  size_t RowCount() override {
    // rocksdb.estimate-num-keys counts every overwrite as a row.
    const std::unique_ptr<rocksdb::Iterator> row(db_->NewIterator(rocksdb::ReadOptions()));
    size_t rows = 0;
    for (row->SeekToFirst(); row->Valid(); row->Next()) ++rows;
    return rows;
  }

  Status Checkpoint(const std::string& path) override {
    rocksdb::Checkpoint* raw = nullptr;
    rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &raw);
    if (!status.ok()) return FromRocks(status);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    return FromRocks(checkpoint->CreateCheckpoint(path));
  }

 private:
  const size_t dim_;
  const bool sync_;
  ServerFaults* const faults_;
  std::mutex update_mutex_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

std::unique_ptr<KvEngine> MakeRocksEngine(const EngineOptions& options, ServerFaults* faults) {
  return std::make_unique<RocksKv>(options, faults);
}

}  // namespace psdemo

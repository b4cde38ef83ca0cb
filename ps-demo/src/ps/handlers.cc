#include "ps/handlers.h"

#include "perf/perf.h"

namespace psdemo {
namespace {

Status CheckRowBytes(KeySpan keys, uint32_t dim, size_t bytes) {
  const size_t expected = keys.size * dim * sizeof(float);
  if (bytes == expected) return Status::Ok();
  return {Code::kInvalidArgument, std::to_string(bytes) + " bytes of rows for " + std::to_string(keys.size) +
                                      " keys of dimension " + std::to_string(dim) + "; expected " +
                                      std::to_string(expected)};
}

}  // namespace

Handlers::Handlers(Options options, KvEngine* engine, ServerFaults* faults)
    : options_(std::move(options)), engine_(engine), faults_(faults) {}

Status Handlers::Check(KeySpan keys, uint32_t dim) const {
  const ServerLimits& limits = options_.limits;
  if (keys.size > limits.max_batch_keys) {
    return {Code::kTooLarge, "batch of " + std::to_string(keys.size) +
                                 " keys is over --max_batch_keys=" + std::to_string(limits.max_batch_keys)};
  }
  if (dim != limits.dim) {
    return {Code::kInvalidArgument,
            "dimension " + std::to_string(dim) + ", but the tables have --dim=" + std::to_string(limits.dim)};
  }
  for (const uint64_t key : keys) {
    if (TableOf(key) >= limits.tables) {
      return {Code::kNotFound,
              "unknown table " + std::to_string(TableOf(key)) + " (--tables=" + std::to_string(limits.tables) + ")"};
    }
  }
  return Status::Ok();
}

__attribute__((noinline)) Status Handlers::Common(KeySpan keys, uint32_t dim, std::atomic<uint64_t>* counter) {
  faults_->MaybeHang();
  Status status = Check(keys, dim);
  ++(status.ok() ? *counter : refused_);
  return status;
}

Status Handlers::Get(KeySpan keys, uint32_t dim, float* rows, size_t* missing) {
  PERF_SCOPE("PS.GetParameter.Handle");
  Status status = Common(keys, dim, &gets_);
  if (!status.ok()) return status;
  PERF_SCOPE("KV BatchGet");
  return engine_->BatchGet(keys, rows, missing);
}

Status Handlers::Put(KeySpan keys, uint32_t dim, const float* rows, size_t row_bytes) {
  PERF_SCOPE("PS.PutParameter.Handle");
  Status status = Common(keys, dim, &puts_);
  if (status.ok()) status = CheckRowBytes(keys, dim, row_bytes);
  if (!status.ok()) return status;
  PERF_SCOPE("PS.PutParameter.KVPutAll");
  return engine_->KVPutAll(keys, rows);
}

Status Handlers::Update(KeySpan keys, uint32_t dim, const float* gradients, size_t gradient_bytes,
                        float learning_rate) {
  PERF_SCOPE("PS.UpdateParameter.Handle");
  Status status = Common(keys, dim, &updates_);
  if (status.ok()) status = CheckRowBytes(keys, dim, gradient_bytes);
  if (!status.ok()) return status;
  PERF_SCOPE("PS.UpdateParameter.KVUpdateAll");
  return engine_->KVUpdateAll(keys, gradients, learning_rate);
}

std::string Handlers::Ready() const {
  const ServerLimits& limits = options_.limits;
  return "tables=" + std::to_string(limits.tables) + " dim=" + std::to_string(limits.dim) +
         " max_batch_keys=" + std::to_string(limits.max_batch_keys);
}

std::string Handlers::Stats() const {
  std::string text = "gets=" + std::to_string(gets_) + " puts=" + std::to_string(puts_) +
                     " updates=" + std::to_string(updates_) + " refused=" + std::to_string(refused_) +
                     " rows=" + std::to_string(engine_->RowCount()) + " faults=";
  const char* separator = "";
  for (const std::string& name : faults_->Active()) {
    text += separator + name;
    separator = ",";
  }
  return text;
}

Status Handlers::Checkpoint(const std::string& file_name, std::string* path) {
  if (options_.checkpoint_dir.empty()) return {Code::kInvalidArgument, "the server has no --checkpoint_dir"};
  if (file_name.empty() || file_name[0] == '.' || file_name.find('/') != std::string::npos) {
    return {Code::kInvalidArgument, "checkpoint name '" + file_name + "' is not a plain file name"};
  }
  *path = options_.checkpoint_dir + "/" + file_name;
  return engine_->Checkpoint(*path);
}

}  // namespace psdemo

#include "kv/checkpoint.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace psdemo {
namespace {

constexpr char kMagic[8] = {'P', 'S', 'D', 'E', 'M', 'O', '1', '\n'};

struct Header {
  char magic[8];
  uint64_t dim;
  uint64_t rows;
};

Status FileError(const std::string& path, const std::string& what) {
  return {Code::kInternal, "checkpoint " + path + ": " + what};
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string path, size_t dim)
    : path_(std::move(path)),
      temporary_path_(path_ + ".tmp"),
      dim_(dim),
      file_(std::fopen(temporary_path_.c_str(), "wb")) {
  if (file_ == nullptr) error_ = errno;
  const Header placeholder{};  // the real one is written once the rows are counted
  Write(&placeholder, sizeof placeholder);
}

CheckpointWriter::~CheckpointWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  unlink(temporary_path_.c_str());
}

void CheckpointWriter::Write(const void* data, size_t size) {
  if (error_ == 0 && std::fwrite(data, 1, size, file_) != size) error_ = errno;
}

void CheckpointWriter::Add(uint64_t key, const float* row) {
  Write(&key, sizeof key);
  Write(row, dim_ * sizeof(float));
  ++rows_;
}

Status CheckpointWriter::Finish() {
  Header header{{}, dim_, rows_};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  if (error_ == 0 && std::fseek(file_, 0, SEEK_SET) != 0) error_ = errno;
  Write(&header, sizeof header);
  if (error_ == 0 && (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0)) error_ = errno;
  if (error_ == 0 && std::rename(temporary_path_.c_str(), path_.c_str()) != 0) error_ = errno;
  if (error_ != 0) return FileError(path_, std::strerror(error_));
  std::fclose(std::exchange(file_, nullptr));
  return Status::Ok();
}

Status RestoreCheckpoint(const std::string& path, size_t dim, KvEngine* engine) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return FileError(path, std::strerror(errno));
  Header header;
  if (std::fread(&header, sizeof header, 1, file.get()) != 1 || std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return FileError(path, "not a ps-demo checkpoint");
  }
  if (header.dim != dim) {
    return FileError(path, "has dimension " + std::to_string(header.dim) + ", the server " + std::to_string(dim));
  }
  struct stat info;
  if (fstat(fileno(file.get()), &info) != 0) return FileError(path, std::strerror(errno));
  const uint64_t record_bytes = sizeof(uint64_t) + dim * sizeof(float);
  const uint64_t body_bytes = static_cast<uint64_t>(info.st_size) - sizeof header;
  if (body_bytes % record_bytes != 0 || body_bytes / record_bytes != header.rows) {
    return FileError(path, "truncated: " + std::to_string(body_bytes) + " bytes do not hold " +
                               std::to_string(header.rows) + " rows");
  }
  std::vector<float> row(dim);
  for (uint64_t i = 0; i < header.rows; ++i) {
    uint64_t key;
    if (std::fread(&key, sizeof key, 1, file.get()) != 1 ||
        std::fread(row.data(), sizeof(float), dim, file.get()) != dim) {
      return FileError(path, "read failed");
    }
    const Status status = engine->KVPutAll({&key, 1}, row.data());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace psdemo

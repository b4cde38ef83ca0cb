#include "faults/device_query.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "perf/perf.h"

namespace psdemo {
namespace {

[[noreturn]] void ThrowErrno(const std::string& path, const char* call) {
  throw std::runtime_error("device-query: " + path + ": " + call + ": " + std::strerror(errno));
}

// A POSIX record lock on the whole file, which is exclusive between processes.
void SetFileLock(int fd, const std::string& path, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  while (fcntl(fd, F_SETLKW, &lock) != 0) {
    if (errno != EINTR) ThrowErrno(path, "fcntl(F_SETLKW)");
  }
}

}  // namespace

DeviceQuery::DeviceQuery(const std::string& path, int64_t reps)
    : path_(path), reps_(reps), fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (fd_ < 0) ThrowErrno(path, "open");
  try {
    QueryOnce();
  } catch (...) {
    close(fd_);
    throw;
  }
}

DeviceQuery::~DeviceQuery() { close(fd_); }

void DeviceQuery::QueryOnce() {
  // A changed byte makes FIEMAP_FLAG_SYNC write the file back before it answers, so the call is slow each time.
  const char byte = 'q';
  if (pwrite(fd_, &byte, 1, 0) != 1) ThrowErrno(path_, "pwrite");
  struct fiemap query {};
  query.fm_length = FIEMAP_MAX_OFFSET;
  query.fm_flags = FIEMAP_FLAG_SYNC;
  if (ioctl(fd_, FS_IOC_FIEMAP, &query) != 0) ThrowErrno(path_, "ioctl(FS_IOC_FIEMAP)");
}

__attribute__((noinline)) void DeviceQuery::QueryDeviceProperties() {
  PERF_SCOPE("Fault.DeviceQuery.Total");
  SetFileLock(fd_, path_, F_WRLCK);
  for (int64_t i = 0; i < reps_; ++i) QueryOnce();
  SetFileLock(fd_, path_, F_UNLCK);
}

}  // namespace psdemo

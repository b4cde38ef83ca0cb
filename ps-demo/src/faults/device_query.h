// The fault device-query: before each read, the I/O thread asks a "device" for its properties, many times over, through
// a slow system call and under a lock that all processes share. It stands for a driver call such as the one behind
// cudaGetDeviceProperties, which is dear, serialised across processes, and often made again for every operation.
#pragma once

#include <cstdint>
#include <string>

namespace psdemo {

class DeviceQuery {
 public:
  // `path` must be on a filesystem with FS_IOC_FIEMAP (ext4, xfs, btrfs; not tmpfs). Throws std::runtime_error if not.
  DeviceQuery(const std::string& path, int64_t reps);
  ~DeviceQuery();
  DeviceQuery(const DeviceQuery&) = delete;
  DeviceQuery& operator=(const DeviceQuery&) = delete;

  // Throws std::runtime_error if the lock or the system call fails.
  void QueryDeviceProperties();

 private:
  void QueryOnce();

  const std::string path_;
  const int64_t reps_;
  int fd_;
};

}  // namespace psdemo

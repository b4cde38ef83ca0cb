// The faults that live in the server: shard-lock, hang-server and wal-sync. All are off by default.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"

namespace psdemo {

class ServerFaults {
 public:
  // `text` is name[:k=v,...].
  Status Enable(const std::string& text);
  Status Disable(const std::string& name);
  std::vector<std::string> Active() const;

  // shard-lock: all shards behind one mutex, which is held over an off-CPU wait (it stands for a log sync).
  int64_t shard_lock_hold_us() const { return shard_lock_hold_us_.load(std::memory_order_relaxed); }
  std::mutex& shard_lock() { return shard_lock_; }
  // The holder's wait.
  static void HoldWork(int64_t hold_us);

  // hang-server: from the Nth request on, callers block on a mutex that nobody will ever release.
  void MaybeHang();

  // wal-sync: the store writes its log to disk before it answers.
  bool wal_sync() const { return wal_sync_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> shard_lock_hold_us_{0};
  std::mutex shard_lock_;
  std::atomic<bool> hang_armed_{false};
  std::atomic<int64_t> requests_until_hang_{0};
  std::mutex never_released_;
  std::atomic<bool> wal_sync_{false};
};

}  // namespace psdemo

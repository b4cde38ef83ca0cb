#include "faults/server_faults.h"

#include <time.h>

#include <cstdio>
#include <stdexcept>

#include "faults/spec.h"

namespace psdemo {

Status ServerFaults::Enable(const std::string& text) {
  try {
    const FaultSpec fault = ParseFault(text);
    if (fault.name == "shard-lock") {
      shard_lock_hold_us_ = fault.Integer("hold_us", 2000, 1, 10000000);
    } else if (fault.name == "hang-server") {
      requests_until_hang_ = fault.Integer("after", 300, 0, INT64_MAX);
      if (!hang_armed_.exchange(true)) never_released_.lock();
    } else if (fault.name == "wal-sync") {
      wal_sync_ = true;
    } else {
      return {Code::kNotFound, "no server fault '" + fault.name + "' (there are shard-lock, hang-server, wal-sync)"};
    }
  } catch (const std::invalid_argument& error) {
    return {Code::kInvalidArgument, error.what()};
  }
  return Status::Ok();
}

Status ServerFaults::Disable(const std::string& name) {
  if (name == "shard-lock") {
    shard_lock_hold_us_ = 0;
  } else if (name == "wal-sync") {
    wal_sync_ = false;
  } else if (name == "hang-server") {
    return {Code::kInvalidArgument, "hang-server cannot be switched off: its lock is never released"};
  } else {
    return {Code::kNotFound, "no server fault '" + name + "'"};
  }
  return Status::Ok();
}

std::vector<std::string> ServerFaults::Active() const {
  std::vector<std::string> names;
  if (shard_lock_hold_us() > 0) names.push_back("shard-lock");
  if (hang_armed_) names.push_back("hang-server");
  if (wal_sync()) names.push_back("wal-sync");
  return names;
}

__attribute__((noinline)) void ServerFaults::HoldWork(int64_t hold_us) {
  timespec wait{static_cast<time_t>(hold_us / 1000000), static_cast<long>(hold_us % 1000000 * 1000)};
  nanosleep(&wait, nullptr);
  asm volatile("" ::: "memory");  // no tail call: the frame stays on the stack
}

void ServerFaults::MaybeHang() {
  if (!hang_armed_.load(std::memory_order_relaxed)) return;
  if (requests_until_hang_.fetch_sub(1) > 0) return;
  std::printf("PS hangs a worker\n");
  std::fflush(stdout);
  never_released_.lock();
}

}  // namespace psdemo

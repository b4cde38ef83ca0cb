// Which server holds which key, and a batch divided accordingly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/keys.h"

namespace psdemo {

class KeySplit {
 public:
  // `hot_shard_skew` is the fraction of all keys that goes to server 0 whatever their hash (fault hot-shard).
  explicit KeySplit(size_t servers, double hot_shard_skew = 0);

  size_t ServerOf(uint64_t key) const;

  // The positions of the batch's keys, by server.
  std::vector<std::vector<uint32_t>> Split(KeySpan keys) const;

 private:
  const size_t servers_;
  const uint32_t hot_per_65536_;
};

}  // namespace psdemo

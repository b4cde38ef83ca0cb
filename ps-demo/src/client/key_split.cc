#include "client/key_split.h"

namespace psdemo {

KeySplit::KeySplit(size_t servers, double hot_shard_skew)
    : servers_(servers), hot_per_65536_(static_cast<uint32_t>(hot_shard_skew * 65536)) {}

size_t KeySplit::ServerOf(uint64_t key) const {
  const uint64_t hash = MixKey(key);
  if ((hash >> 48) < hot_per_65536_) return 0;
  return (hash & 0xffffffff) % servers_;
}

std::vector<std::vector<uint32_t>> KeySplit::Split(KeySpan keys) const {
  std::vector<std::vector<uint32_t>> positions(servers_);
  for (size_t i = 0; i < keys.size; ++i) positions[ServerOf(keys[i])].push_back(static_cast<uint32_t>(i));
  return positions;
}

}  // namespace psdemo

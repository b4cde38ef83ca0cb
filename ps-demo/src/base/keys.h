// Keys: which embedding row, of which table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psdemo {

// A borrowed run of keys (C++17 has no std::span).
struct KeySpan {
  const uint64_t* data = nullptr;
  size_t size = 0;

  const uint64_t* begin() const { return data; }
  const uint64_t* end() const { return data + size; }
  uint64_t operator[](size_t i) const { return data[i]; }
};

inline uint64_t MakeKey(uint32_t table, uint32_t row) { return (uint64_t{table} << 32) | row; }
inline uint32_t TableOf(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

// Spreads keys evenly (the finaliser of MurmurHash3). Servers take the low bits and the shards inside a server the high
// ones, so that one server's keys do not all fall into a few of its shards.
inline uint64_t MixKey(uint64_t key) {
  key ^= key >> 33;
  key *= 0xff51afd7ed558ccdULL;
  key ^= key >> 33;
  key *= 0xc4ceb9fe1a85ec53ULL;
  key ^= key >> 33;
  return key;
}

}  // namespace psdemo

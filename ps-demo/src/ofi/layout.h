// What lies where in the registered memory of the RMA transport. Both sides are processes of the same build.
//
//   a request area                             a reply area
//   +0    sequence, written last and alone     +0    sequence, written last and alone
//   +64   RequestHeader                        +64   ReplyHeader
//   +1024 keys[n]                              +1024 rows[n][dim]
//         payload[n][dim], right behind
//
// The server has a request area ("slot") per client. A client has, for each server, a copy of its slot, in which it
// builds requests, and a reply area. So a slot and its copy use the same offsets: in PUT mode `read` the server fetches
// the payload from the copy into the slot, in mode `push` the client's one write has carried it already.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psdemo::ofi {

enum class Op : uint32_t { kHello = 1, kGet = 2, kPut = 3, kUpdate = 4 };
enum class Payload : uint32_t { kNone = 0, kPushed = 1, kToRead = 2 };

constexpr size_t kMaxAddressBytes = 256;
constexpr size_t kMaxErrorBytes = 256;

struct RequestHeader {
  Op op;
  Payload payload;
  uint64_t keys;
  uint32_t dim;
  float learning_rate;
  // kHello only: how the server reaches the client.
  uint64_t client_base;
  uint64_t client_rkey;
  uint64_t request_offset;  // of the slot's copy in the client's arena
  uint64_t reply_offset;
  uint32_t address_bytes;
  char address[kMaxAddressBytes];
};

struct ReplyHeader {
  uint32_t code;  // psdemo::Code
  uint32_t error_bytes;
  uint64_t missing;
  char error[kMaxErrorBytes];
};

constexpr size_t kHeaderOffset = 64;
constexpr size_t kBodyOffset = 1024;
static_assert(kHeaderOffset + sizeof(RequestHeader) <= kBodyOffset);
static_assert(kHeaderOffset + sizeof(ReplyHeader) <= kBodyOffset);

constexpr size_t KeyBytes(uint64_t keys) { return keys * sizeof(uint64_t); }
constexpr size_t RowBytes(uint64_t keys, size_t dim) { return keys * dim * sizeof(float); }
constexpr size_t PageAligned(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }
constexpr size_t RequestAreaBytes(uint64_t slot_keys, size_t dim) {
  return PageAligned(kBodyOffset + KeyBytes(slot_keys) + RowBytes(slot_keys, dim));
}
constexpr size_t ReplyAreaBytes(uint64_t slot_keys, size_t dim) {
  return PageAligned(kBodyOffset + RowBytes(slot_keys, dim));
}

inline uint64_t LoadSequence(const char* area) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(area), __ATOMIC_ACQUIRE);
}
inline void StoreSequence(char* area, uint64_t sequence) {
  __atomic_store_n(reinterpret_cast<uint64_t*>(area), sequence, __ATOMIC_RELEASE);
}

}  // namespace psdemo::ofi

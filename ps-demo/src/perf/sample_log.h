// One thread's timer samples: written by that thread without locks, read by the reporter.
//
//   head_ -> [ full chunk ] -> [ full chunk ] -> [ chunk in use ] <- tail_
//             ^ read_                             ^ used, published with release
//
// The writer never touches a chunk again once `next` is set, so the reader may free it.
#pragma once

#include <atomic>
#include <cstdint>

namespace psdemo::perf {

// A sample packs the duration in ns (48 bits, 78 hours) and the timer's id (16 bits).
class SampleLog {
 public:
  static constexpr uint64_t kMaxDurationNs = (uint64_t{1} << 48) - 1;

  SampleLog() : head_(new Chunk), tail_(head_) {}
  SampleLog(const SampleLog&) = delete;
  SampleLog& operator=(const SampleLog&) = delete;

  ~SampleLog() {
    while (head_ != nullptr) {
      Chunk* next = head_->next.load(std::memory_order_relaxed);
      delete head_;
      head_ = next;
    }
  }

  // Owner thread only.
  void Append(uint16_t timer, uint64_t duration_ns) {
    uint32_t used = tail_->used.load(std::memory_order_relaxed);
    if (used == Chunk::kSamples) {
      Chunk* fresh = new Chunk;
      tail_->next.store(fresh, std::memory_order_release);
      tail_ = fresh;
      used = 0;
    }
    if (duration_ns > kMaxDurationNs) duration_ns = kMaxDurationNs;
    tail_->samples[used] = (duration_ns << 16) | timer;
    tail_->used.store(used + 1, std::memory_order_release);
  }

  // Reporter only: calls visit(timer, duration_ns) for every sample since the last call.
  template <class Visit>
  void Drain(Visit&& visit) {
    for (;;) {
      const uint32_t used = head_->used.load(std::memory_order_acquire);
      for (; read_ < used; ++read_) {
        const uint64_t sample = head_->samples[read_];
        visit(static_cast<uint16_t>(sample & 0xffff), sample >> 16);
      }
      if (used < Chunk::kSamples) return;
      Chunk* next = head_->next.load(std::memory_order_acquire);
      if (next == nullptr) return;
      delete head_;
      head_ = next;
      read_ = 0;
    }
  }

  // The owner thread has ended; after one more Drain the log can go.
  void Finish() { finished_.store(true, std::memory_order_release); }
  bool finished() const { return finished_.load(std::memory_order_acquire); }

 private:
  struct Chunk {
    static constexpr uint32_t kSamples = 1022;
    std::atomic<uint32_t> used{0};
    std::atomic<Chunk*> next{nullptr};
    uint64_t samples[kSamples];
  };

  Chunk* head_;
  uint32_t read_ = 0;
  Chunk* tail_;
  std::atomic<bool> finished_{false};
};

}  // namespace psdemo::perf

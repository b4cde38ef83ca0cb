// The native half of trainer.py: an embedding table with worker threads of its own, none of which touches Python.
// Three threads compute and wait in turn, one waits for work that never comes, one serves an event loop.
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {

class EmbeddingTable {
 public:
  explicit EmbeddingTable(size_t rows) : rows_(rows * kWidth, 0.5f) {}

  __attribute__((noinline)) double gather(unsigned seed, int keys) const {
    double sum = 0;
    for (int key = 0; key < keys; key++) sum += row_norm((seed + key * 2654435761u) % (rows_.size() / kWidth));
    return sum;
  }

  __attribute__((noinline)) void apply_gradients(unsigned seed, int keys) {
    for (int key = 0; key < keys; key++) {
      size_t row = (seed + key * 40503u) % (rows_.size() / kWidth);
      for (size_t i = 0; i < kWidth; i++) rows_[row * kWidth + i] *= 0.999f;
    }
  }

 private:
  static constexpr size_t kWidth = 16;

  double row_norm(size_t row) const {
    double sum = 0;
    for (size_t i = 0; i < kWidth; i++) sum += rows_[row * kWidth + i] * rows_[row * kWidth + i];
    return std::sqrt(sum);
  }

  std::vector<float> rows_;
};

// Hands batches from the Python thread to the gathering threads, and counts those that are done.
class BatchQueue {
 public:
  void submit(unsigned seed) {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(seed);
    arrived_.notify_one();
  }

  unsigned wait_for_batch() {
    std::unique_lock<std::mutex> lock(mutex_);
    arrived_.wait(lock, [this] { return !waiting_.empty(); });
    unsigned seed = waiting_.front();
    waiting_.pop_front();
    return seed;
  }

  void finish(double result) {
    std::lock_guard<std::mutex> lock(mutex_);
    result_ += result;
    done_++;
    finished_.notify_one();
  }

  double wait_for_results(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    finished_.wait(lock, [&] { return done_ >= count; });
    done_ -= count;
    return result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_, finished_;
  std::deque<unsigned> waiting_;
  int done_ = 0;
  double result_ = 0;
};

EmbeddingTable table(1 << 16);
BatchQueue batches;
std::atomic<unsigned> step{0};

void spawn(const char* name, void (*body)()) {
  std::thread([=] {
    pthread_setname_np(pthread_self(), name);
    body();
  }).detach();
}

void gather_loop() {
  for (;;) batches.finish(table.gather(batches.wait_for_batch(), 20000));
}

void checkpoint_loop() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    table.apply_gradients(step, 50000);
  }
}

void wait_for_evictions() {
  static std::mutex mutex;
  static std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) never.wait(lock);
}

void serve_requests() {
  int events = epoll_create1(0);
  epoll_event event;
  for (;;) epoll_wait(events, &event, 1, -1);
}

}  // namespace

extern "C" {

void trainer_start() {
  spawn("emb-gather-0", gather_loop);
  spawn("emb-gather-1", gather_loop);
  spawn("emb-checkpoint", checkpoint_loop);
  spawn("emb-evict", wait_for_evictions);
  spawn("emb-server", serve_requests);
}

// The main thread's part of a step: hands out the batches and waits for their results.
double trainer_embed(unsigned seed, int count) {
  step = seed;
  for (int i = 0; i < count; i++) batches.submit(seed * 31 + i);
  return batches.wait_for_results(count);
}
}

// The I/O thread "ps-io" of a prefetching trainer: it runs jobs in the order of their submission.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace psdemo {

class Worker {
 public:
  using Ticket = int64_t;

  Worker();
  // Runs what was submitted, then joins the thread.
  ~Worker();

  Ticket Submit(std::function<void()> job);
  // Returns once the job has run, and rethrows what it threw. A ticket can be waited for once; throws
  // std::invalid_argument on any other.
  void Wait(Ticket ticket);

 private:
  enum class State { kQueued, kDone };
  struct Job {
    State state = State::kQueued;
    std::exception_ptr error;
  };

  void Run();

  std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable finished_;
  std::deque<std::pair<Ticket, std::function<void()>>> queue_;
  std::unordered_map<Ticket, Job> jobs_;
  Ticket next_ticket_ = 1;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace psdemo

#include "torch/worker.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "base/thread_name.h"
#include "perf/perf.h"

namespace psdemo {

Worker::Worker() : thread_([this] { Run(); }) { SetThreadName(thread_.native_handle(), "ps-io"); }

Worker::~Worker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  submitted_.notify_one();
  thread_.join();
}

Worker::Ticket Worker::Submit(std::function<void()> job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Ticket ticket = next_ticket_++;
  jobs_.emplace(ticket, Job{});
  queue_.emplace_back(ticket, std::move(job));
  submitted_.notify_one();
  return ticket;
}

__attribute__((noinline)) void Worker::Wait(Ticket ticket) {
  PERF_SCOPE("OP.Wait");
  std::unique_lock<std::mutex> lock(mutex_);
  if (jobs_.count(ticket) == 0) throw std::invalid_argument("no job has ticket " + std::to_string(ticket));
  finished_.wait(lock, [&] { return jobs_[ticket].state == State::kDone; });
  const std::exception_ptr error = jobs_[ticket].error;
  jobs_.erase(ticket);
  lock.unlock();
  if (error != nullptr) std::rethrow_exception(error);
}

void Worker::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    submitted_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    auto [ticket, job] = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    std::exception_ptr error;
    try {
      job();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    jobs_[ticket] = {State::kDone, error};
    finished_.notify_all();
  }
}

}  // namespace psdemo

// Eight threads in eight functions: two that compute, six that wait, each in a way of its own.
// A library for beside.py (`threads_start`), and a program by itself with -DPROGRAM.
#include <poll.h>
#include <sys/epoll.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "protocol.h"

#define BODY extern "C" __attribute__((noinline)) void

namespace {
std::atomic<int> started{0};
std::mutex mutex, held;
std::condition_variable never;
volatile double sink;

int empty_pipe() {
  int ends[2];
  if (pipe(ends) != 0) exit(1);
  return ends[0];
}

void spawn(const char* name, void (*body)()) {
  std::thread([=] {
    name_thread(name);
    started++;
    body();
    sink = sink + 1;  // not a tail call: this lambda stays on the stack
  }).detach();
}
}  // namespace

BODY gather_rows() {
  for (double i = 0;; i++) sink = std::sqrt(i) + sink;
}

BODY hash_keys() {
  for (unsigned long i = 1;; i++) sink = static_cast<double>(i * 2654435761u % 1000003);
}

BODY wait_for_batch() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) never.wait(lock);
}

BODY wait_for_lock() {
  for (;;) std::lock_guard<std::mutex> lock(held);
}

BODY pause_between_flushes() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

BODY serve_events() {
  int events = epoll_create1(0);
  epoll_event event;
  for (;;) epoll_wait(events, &event, 1, -1);
}

BODY read_requests() {
  int pipe_end = empty_pipe();
  char byte;
  while (read(pipe_end, &byte, 1) >= 0) {
  }
}

BODY poll_sockets() {
  pollfd waiting = {empty_pipe(), POLLIN, 0};
  for (;;) poll(&waiting, 1, -1);
}

extern "C" void threads_start() {
  held.lock();
  spawn("gather", gather_rows);
  spawn("hash", hash_keys);
  spawn("batch", wait_for_batch);
  spawn("lock", wait_for_lock);
  spawn("flush", pause_between_flushes);
  spawn("events", serve_events);
  spawn("requests", read_requests);
  spawn("sockets", poll_sockets);
  while (started < 8) std::this_thread::yield();
}

#ifdef PROGRAM
int main() {
  threads_start();
  answer_until_end_of_input([] { return std::string("{}"); });
}
#endif

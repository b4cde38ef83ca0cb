// One thread, `phases`, that spins half of its time, sleeps 30 % and waits for a lock 20 %, in phases of some
// milliseconds and of random length, so that no sampling clock can fall into step with it.
// Its truth: wall time of each phase, and its CPU and run-queue time.
#include <semaphore.h>

#include <atomic>
#include <random>
#include <thread>

#include "protocol.h"

#define PHASE extern "C" __attribute__((noinline)) void

namespace {
std::atomic<int> tid{0};
std::atomic<long long> spin_ns{0}, sleep_ns{0}, lock_ns{0};
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
sem_t hold_wanted, held;
std::atomic<long long> hold_ns{0};

void sleep_until(long long deadline_ns) {
  timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) != 0) {
  }
}

// The other side of `lock_phase`: takes the lock, and gives it back after the time that was asked for.
void holder() {
  name_thread("holder");
  for (;;) {
    sem_wait(&hold_wanted);
    pthread_mutex_lock(&lock);
    long long until = clock_ns(CLOCK_MONOTONIC) + hold_ns;
    sem_post(&held);
    sleep_until(until);
    pthread_mutex_unlock(&lock);
  }
}
}  // namespace

PHASE spin_phase(long long ns) {
  for (long long until = clock_ns(CLOCK_MONOTONIC) + ns; clock_ns(CLOCK_MONOTONIC) < until;) {
  }
}

PHASE sleep_phase(long long ns) { sleep_until(clock_ns(CLOCK_MONOTONIC) + ns); asm volatile("" ::: "memory"); }

PHASE lock_phase(long long ns) {
  hold_ns = ns;
  sem_post(&hold_wanted);
  sem_wait(&held);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
}

namespace {
void timed(std::atomic<long long>& total_ns, void (*phase)(long long), long long ns) {
  long long begin = clock_ns(CLOCK_MONOTONIC);
  phase(ns);
  total_ns += clock_ns(CLOCK_MONOTONIC) - begin;
}

void shares() {
  name_thread("phases");
  tid = thread_id();
  std::mt19937 random(1);
  std::uniform_real_distribution<double> around_one(0.5, 1.5);
  for (;;) {
    timed(spin_ns, spin_phase, 5e6 * around_one(random));
    timed(sleep_ns, sleep_phase, 3e6 * around_one(random));
    timed(lock_ns, lock_phase, 2e6 * around_one(random));
  }
}

std::string truth() {
  Schedstat scheduler(tid);
  char text[300];
  snprintf(text, sizeof text,
           "{\"wall_ns\":%lld,\"spin_ns\":%lld,\"sleep_ns\":%lld,\"lock_ns\":%lld,\"cpu_ns\":%lld,\"wait_ns\":%lld}",
           clock_ns(CLOCK_MONOTONIC), spin_ns.load(), sleep_ns.load(), lock_ns.load(), scheduler.cpu_ns,
           scheduler.wait_ns);
  return text;
}
}  // namespace

int main() {
  sem_init(&hold_wanted, 0, 0);
  sem_init(&held, 0, 0);
  std::thread(holder).detach();
  std::thread(shares).detach();
  while (tid == 0) std::this_thread::yield();
  answer_until_end_of_input(truth);
}

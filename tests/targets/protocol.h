// The protocol of the target programs (README.md): `ready`, a line of truth for every line read, exit at end of input.
#pragma once
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>

inline long long clock_ns(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

inline int thread_id() { return static_cast<int>(syscall(SYS_gettid)); }

inline void name_thread(const std::string& name) { pthread_setname_np(pthread_self(), name.c_str()); }

inline void pin_to_cpu(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus) != 0) {
    perror("pthread_setaffinity_np");
    exit(1);
  }
}

// What the scheduler says of a thread of this process: time on a CPU and time waiting for one.
struct Schedstat {
  long long cpu_ns = 0, wait_ns = 0;
  explicit Schedstat(int tid) {
    std::string path = "/proc/self/task/" + std::to_string(tid) + "/schedstat";
    FILE* file = fopen(path.c_str(), "r");
    if (file == nullptr || fscanf(file, "%lld %lld", &cpu_ns, &wait_ns) != 2) {
      perror(path.c_str());
      exit(1);
    }
    fclose(file);
  }
};

// `truth()` returns one JSON object, without a newline.
template <typename Truth>
[[noreturn]] void answer_until_end_of_input(Truth truth) {
  puts("ready");
  fflush(stdout);
  for (int c; (c = getchar()) != EOF;) {
    if (c != '\n') continue;
    puts(truth().c_str());
    fflush(stdout);
  }
  quick_exit(0);  // not exit: other threads still use what it would destroy
}

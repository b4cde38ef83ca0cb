// Names in /proc/PID/task/TID/comm, which is what a profiler shows for a thread.
#pragma once

#include <pthread.h>

#include <string>

namespace psdemo {

// Threads are named by who starts them, so that they have their names before anything depends on them.
// Linux keeps 15 characters; a longer name would be refused altogether.
inline void SetThreadName(pthread_t thread, const std::string& name) {
  pthread_setname_np(thread, name.substr(0, 15).c_str());
}

}  // namespace psdemo

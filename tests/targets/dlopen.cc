// `dlopen LIBRARY`: the thread `loader` loads the library, calls its `plugin_work` and unloads it, without end.
#include <dlfcn.h>

#include <atomic>
#include <thread>

#include "protocol.h"

namespace {
std::atomic<long> rounds{0};
}

extern "C" __attribute__((noinline)) void use_plugin(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  auto work = library ? reinterpret_cast<void (*)()>(dlsym(library, "plugin_work")) : nullptr;
  if (work == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    _exit(1);
  }
  work();
  dlclose(library);
  rounds++;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::thread([=] {
    name_thread("loader");
    for (;;) use_plugin(argv[1]);
  }).detach();
  while (rounds == 0) std::this_thread::yield();
  answer_until_end_of_input([] { return "{\"rounds\":" + std::to_string(rounds) + "}"; });
}

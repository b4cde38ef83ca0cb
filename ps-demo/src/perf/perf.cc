#include "perf/perf.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/thread_name.h"

namespace psdemo::perf {

std::atomic<bool> internal::recording{false};

namespace {

// Timer names and the logs of all threads. Never destroyed: threads may record until the very end of the process.
struct Registry {
  std::mutex mutex;
  std::unordered_map<std::string, TimerId> ids;
  std::vector<std::string> names;
  std::vector<std::shared_ptr<SampleLog>> logs;

  static Registry& Get() {
    static Registry* registry = new Registry;
    return *registry;
  }
};

// A thread's handle on its log; the log itself lives until the reporter has read the last samples.
struct LogHandle {
  std::shared_ptr<SampleLog> log = std::make_shared<SampleLog>();

  LogHandle() {
    Registry& registry = Registry::Get();
    const std::lock_guard<std::mutex> lock(registry.mutex);
    registry.logs.push_back(log);
  }
  ~LogHandle() { log->Finish(); }
};

class Reporter {
 public:
  explicit Reporter(const Options& options) : options_(options) {
    fd_ = open(options.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd_ < 0) throw std::runtime_error("perf report " + options.path + ": " + std::strerror(errno));
    window_start_ = std::chrono::steady_clock::now();
    thread_ = std::thread([this] { Run(); });
    SetThreadName(thread_.native_handle(), "perf-report");
  }

  ~Reporter() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
    close(fd_);
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    auto deadline = window_start_ + options_.interval;
    while (!wake_.wait_until(lock, deadline, [this] { return stop_; })) {
      WriteWindow();
      deadline += options_.interval;
    }
    WriteWindow();
  }

  void WriteWindow() {
    std::map<std::string, std::vector<uint64_t>> durations;
    const auto now = std::chrono::steady_clock::now();
    DrainLogs(&durations);
    std::vector<NamedStats> timers;
    for (auto& [name, values] : durations) timers.push_back({name, Summarize(&values)});
    WindowHeader header;
    header.window = ++windows_;
    header.role = options_.role;
    header.pid = getpid();
    header.end_unix_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    header.span_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - window_start_).count();
    window_start_ = now;
    // One write, so that several processes can append to the same report without mixing their lines.
    const std::string text = FormatWindow(options_.format, header, timers);
    if (write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      std::fprintf(stderr, "warning: perf report %s: %s\n", options_.path.c_str(), std::strerror(errno));
    }
  }

  static void DrainLogs(std::map<std::string, std::vector<uint64_t>>* durations) {
    Registry& registry = Registry::Get();
    const std::lock_guard<std::mutex> lock(registry.mutex);
    std::vector<std::vector<uint64_t>> by_id(registry.names.size());
    auto& logs = registry.logs;
    for (size_t i = 0; i < logs.size();) {
      const bool finished = logs[i]->finished();  // before the drain: nothing can follow it
      logs[i]->Drain([&](TimerId timer, uint64_t ns) { by_id[timer].push_back(ns); });
      if (finished) {
        std::swap(logs[i], logs.back());
        logs.pop_back();
      } else {
        ++i;
      }
    }
    for (size_t id = 0; id < by_id.size(); ++id) {
      if (!by_id[id].empty()) (*durations)[registry.names[id]] = std::move(by_id[id]);
    }
  }

  const Options options_;
  int fd_ = -1;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  uint64_t windows_ = 0;
  std::chrono::steady_clock::time_point window_start_;
  std::thread thread_;
};

std::mutex reporter_mutex;
std::unique_ptr<Reporter> reporter;

const char* Environment(const char* suffix) {
  const char* value = std::getenv((std::string("RECSTORE_PERF_") + suffix).c_str());
  return value != nullptr ? value : std::getenv((std::string("PSDEMO_PERF_") + suffix).c_str());
}

}  // namespace

Format ParseFormat(const std::string& name) {
  if (name == "text") return Format::kText;
  if (name == "jsonl") return Format::kJsonLines;
  throw std::invalid_argument("perf format '" + name + "' is neither text nor jsonl");
}

Options OptionsFromEnvironment(const std::string& role) {
  Options options;
  options.role = role;
  if (const char* path = Environment("REPORT_PATH")) options.path = path;
  if (const char* format = Environment("FORMAT")) options.format = ParseFormat(format);
  if (const char* interval = Environment("INTERVAL_MS")) {
    char* end = nullptr;
    const long ms = std::strtol(interval, &end, 10);
    if (*interval == '\0' || *end != '\0' || ms < 1 || ms > 86400000) {
      throw std::invalid_argument(std::string("perf interval '") + interval + "' is not 1 to 86400000 ms");
    }
    options.interval = std::chrono::milliseconds(ms);
  }
  return options;
}

void Start(const Options& options) {
  const std::lock_guard<std::mutex> lock(reporter_mutex);
  if (options.path.empty() || reporter != nullptr) return;
  reporter = std::make_unique<Reporter>(options);
  internal::recording.store(true, std::memory_order_relaxed);
}

void Stop() {
  const std::lock_guard<std::mutex> lock(reporter_mutex);
  internal::recording.store(false, std::memory_order_relaxed);
  reporter.reset();
}

TimerId Register(const std::string& name) {
  Registry& registry = Registry::Get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.ids.find(name);
  if (found != registry.ids.end()) return found->second;
  if (registry.names.size() > UINT16_MAX) throw std::length_error("more than 65536 timers");
  const auto id = static_cast<TimerId>(registry.names.size());
  registry.names.push_back(name);
  registry.ids.emplace(name, id);
  return id;
}

void Record(TimerId timer, uint64_t duration_ns) {
  thread_local LogHandle handle;
  handle.log->Append(timer, duration_ns);
}

}  // namespace psdemo::perf

// ps_server: one embedding parameter server.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "base/flags.h"
#include "kv/checkpoint.h"
#include "ofi/rma_front.h"
#include "perf/perf.h"
#include "ps/grpc_server.h"

namespace {

psdemo::Flags ParseFlags(int argc, char** argv) {
  std::vector<psdemo::FlagSpec> specs = {{"address", "127.0.0.1:0", "where gRPC listens; port 0 picks a free one"},
                                         {"workers", "4", "threads that serve requests"},
                                         {"tables", "26", "number of embedding tables"},
                                         {"dim", "16", "floats per embedding row"},
                                         {"max_batch_keys", "65536", "largest number of keys in one request"},
                                         {"kv", "memory", "memory or rocksdb"},
                                         {"kv_shards", "64", "shards of the in-memory store"},
                                         {"kv_path", "", "directory of the RocksDB store"},
                                         {"kv_sync", "false", "RocksDB: write the log to disk before answering"},
                                         {"checkpoint_dir", "", "where checkpoints go; empty refuses them"},
                                         {"restore", "", "checkpoint to load before serving (memory store)"},
                                         {"fault", "", "planted fault name[:k=v,...]; may be repeated"},
                                         {"perf_report_path", "", "append timer windows to this file"},
                                         {"perf_interval_ms", "5000", "length of a timer window"},
                                         {"perf_format", "text", "text or jsonl"}};
  const auto rma_specs = psdemo::RmaFlagSpecs();
  specs.insert(specs.end(), rma_specs.begin(), rma_specs.end());
  return psdemo::Flags(argc, argv, "ps_server: an embedding parameter server", specs);
}

// The signals that end the server are blocked in every thread and awaited by main.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void StartPerf(const psdemo::Flags& flags) {
  psdemo::perf::Options options;
  options.role = "ps";
  options.path = flags.Text("perf_report_path");
  options.interval = std::chrono::milliseconds(flags.Integer("perf_interval_ms", 1, 86400000));
  options.format = psdemo::perf::ParseFormat(flags.Text("perf_format"));
  psdemo::perf::Start(options);
}

std::unique_ptr<psdemo::KvEngine> MakeEngine(const psdemo::Flags& flags, psdemo::ServerFaults* faults) {
  psdemo::EngineOptions options;
  options.dim = flags.Integer("dim", 1, 4096);
  options.shards = flags.Integer("kv_shards", 1, 65536);
  options.path = flags.Text("kv_path");
  options.sync = flags.Switch("kv_sync");
  if (flags.Text("kv") == "memory") return psdemo::MakeMemoryEngine(options, faults);
  if (flags.Text("kv") == "rocksdb") return psdemo::MakeRocksEngine(options, faults);
  throw std::invalid_argument("--kv=" + flags.Text("kv") + " is neither memory nor rocksdb");
}

void ThrowIfFailed(const psdemo::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message);
}

void Serve(const psdemo::Flags& flags) {
  const sigset_t stop_signals = BlockStopSignals();
  psdemo::ServerFaults faults;
  for (const std::string& fault : flags.All("fault")) ThrowIfFailed(faults.Enable(fault));
  const auto engine = MakeEngine(flags, &faults);

  psdemo::Handlers::Options options;
  options.limits.tables = static_cast<uint32_t>(flags.Integer("tables", 1, 1 << 20));
  options.limits.dim = static_cast<uint32_t>(flags.Integer("dim", 1, 4096));
  options.limits.max_batch_keys = flags.Integer("max_batch_keys", 1, 1 << 24);
  options.checkpoint_dir = flags.Text("checkpoint_dir");
  options.quit = [] { kill(getpid(), SIGTERM); };
  const std::string restore = flags.Text("restore");
  if (!restore.empty()) ThrowIfFailed(psdemo::RestoreCheckpoint(restore, options.limits.dim, engine.get()));

  psdemo::Handlers handlers(options, engine.get(), &faults);
  StartPerf(flags);
  {
    const std::string address = flags.Text("address");
    const int workers = static_cast<int>(flags.Integer("workers", 1, 256));
    psdemo::GrpcServer server(address, workers, &handlers);
    const auto rma_front = psdemo::MakeRmaFront(flags, &handlers);
    const std::string host = address.substr(0, address.rfind(':'));
    std::printf("PS ready address=%s:%d pid=%d workers=%d\n", host.c_str(), server.port(), getpid(), workers);
    std::fflush(stdout);
    int signal = 0;
    sigwait(&stop_signals, &signal);
  }
  psdemo::perf::Stop();
  std::printf("PS stopped %s\n", handlers.Stats().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Serve(ParseFlags(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}

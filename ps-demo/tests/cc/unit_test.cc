// Unit tests of the parts that need no second process.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "base/flags.h"
#include "check.h"
#include "client/key_split.h"
#include "faults/spec.h"
#include "kv/checkpoint.h"
#include "perf/perf.h"
#include "ps/handlers.h"

namespace psdemo {
namespace {

std::string TemporaryPath(const std::string& name) {
  return "/tmp/psdemo-unit-" + std::to_string(getpid()) + "-" + name;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

KeySpan Span(const std::vector<uint64_t>& keys) { return {keys.data(), keys.size()}; }

TEST(PercentilesAreNearestRank) {
  std::vector<uint64_t> values;
  for (uint64_t i = 200; i >= 1; --i) values.push_back(i);
  CHECK(perf::NearestRank(&values, 50) == 100);
  CHECK(perf::NearestRank(&values, 99) == 198);
  std::vector<uint64_t> one{7};
  CHECK(perf::NearestRank(&one, 50) == 7);
  CHECK(perf::NearestRank(&one, 99) == 7);
  std::vector<uint64_t> ten{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  CHECK(perf::NearestRank(&ten, 99) == 10);
}

TEST(SummaryHasTheRightUnits) {
  std::vector<uint64_t> ns{1000, 2000, 6000};
  const perf::TimerStats stats = perf::Summarize(&ns);
  CHECK(stats.count == 3);
  CHECK(stats.mean_us == 3.0);
  CHECK(stats.p50_us == 2.0);
  CHECK(stats.max_us == 6.0);
}

TEST(SampleLogKeepsOrderAndLosesNothing) {
  perf::SampleLog log;
  constexpr uint64_t kSamples = 5000;  // several chunks
  std::thread writer([&log] {
    for (uint64_t i = 0; i < kSamples; ++i) log.Append(static_cast<uint16_t>(i % 3), i);
    log.Finish();
  });
  uint64_t next = 0;
  bool finished = false;
  while (!finished) {
    finished = log.finished();
    log.Drain([&](uint16_t timer, uint64_t ns) {
      CHECK(ns == next && timer == next % 3);
      ++next;
    });
  }
  writer.join();
  CHECK(next == kSamples);
}

TEST(EveryScopeOfEveryThreadIsReported) {
  const std::string path = TemporaryPath("report");
  perf::Options options;
  options.path = path;
  options.role = "unit";
  options.interval = std::chrono::milliseconds(5);
  options.format = perf::Format::kJsonLines;
  perf::Start(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 10000; ++i) {
        PERF_SCOPE("Unit.Scope");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  perf::Stop();
  const std::string report = ReadFile(path);
  unlink(path.c_str());
  uint64_t count = 0;
  const std::string key = "\"Unit.Scope\":{\"count\":";
  for (size_t at = report.find(key); at != std::string::npos; at = report.find(key, at + 1)) {
    count += std::strtoull(report.c_str() + at + key.size(), nullptr, 10);
  }
  CHECK(count == 40000);
}

TEST(SplitCoversEachKeyOnceAndEvenly) {
  std::vector<uint64_t> keys;
  for (uint32_t table = 0; table < 10; ++table) {
    for (uint32_t row = 0; row < 1000; ++row) keys.push_back(MakeKey(table, row));
  }
  const auto split = KeySplit(3).Split(Span(keys));
  std::set<uint32_t> seen;
  for (const auto& positions : split) {
    CHECK(positions.size() > 3000 && positions.size() < 3700);
    CHECK(std::is_sorted(positions.begin(), positions.end()));
    seen.insert(positions.begin(), positions.end());
  }
  CHECK(seen.size() == keys.size());
}

TEST(HotShardSendsItsShareToServerZero) {
  std::vector<uint64_t> keys;
  for (uint32_t row = 0; row < 10000; ++row) keys.push_back(MakeKey(1, row));
  CHECK(KeySplit(2, 1.0).Split(Span(keys))[1].empty());
  const size_t hot = KeySplit(2, 0.9).Split(Span(keys))[0].size();
  CHECK(hot > 9300 && hot < 9700);  // 90 % and half of the rest
}

TEST(FaultsAreParsed) {
  const FaultSpec fault = ParseFault("shard-lock:hold_us=2000,skew=0.5");
  CHECK(fault.name == "shard-lock");
  CHECK(fault.Integer("hold_us", 1, 0, 10000) == 2000);
  CHECK(fault.Integer("absent", 7, 0, 10) == 7);
  CHECK(fault.Fraction("skew", 0) == 0.5);
  CHECK(ParseFault("wal-sync").parameters.empty());
}

TEST(MalformedFaultsAreRefusedByName) {
  using test::MessageOf;
  CHECK_CONTAINS(MessageOf([] { ParseFault(":a=1"); }), "has no name");
  CHECK_CONTAINS(MessageOf([] { ParseFault("x:novalue"); }), "'novalue' is not key=value");
  CHECK_CONTAINS(MessageOf([] { ParseFault("x:ms=12a").Integer("ms", 0, 0, 99); }), "ms=12a is not a whole number");
  CHECK_CONTAINS(MessageOf([] { ParseFault("x:ms=100").Integer("ms", 0, 0, 99); }), "from 0 to 99");
  CHECK_CONTAINS(MessageOf([] { ParseFault("x:skew=1.5").Fraction("skew", 0); }), "not a fraction");
  CHECK_CONTAINS(MessageOf([] { ParseFault("x:skew=nan").Fraction("skew", 0); }), "not a fraction");
  ServerFaults faults;
  CHECK_CONTAINS(faults.Enable("slow-rank").message, "no server fault 'slow-rank'");
  CHECK_CONTAINS(faults.Enable("shard-lock:hold_us=0").message, "hold_us=0");
  CHECK(faults.Active().empty());
}

struct Server {
  ServerFaults faults;
  std::unique_ptr<KvEngine> engine;
  std::unique_ptr<Handlers> handlers;

  Server() {
    EngineOptions options;
    options.dim = 2;
    options.shards = 4;
    engine = MakeMemoryEngine(options, &faults);
    Handlers::Options handler_options;
    handler_options.limits = {/*tables=*/2, /*dim=*/2, /*max_batch_keys=*/4};
    handlers = std::make_unique<Handlers>(handler_options, engine.get(), &faults);
  }
};

TEST(RowsComeBackAsPutAndUpdated) {
  Server server;
  const std::vector<uint64_t> keys{MakeKey(0, 1), MakeKey(1, 1), MakeKey(1, 9)};
  const std::vector<float> rows{1, 2, 3, 4, 5, 6};
  CHECK(server.handlers->Put(Span(keys), 2, rows.data(), 24).ok());
  const std::vector<uint64_t> one{keys[1]};
  const std::vector<float> gradient{10, 20};
  CHECK(server.handlers->Update(Span(one), 2, gradient.data(), 8, 0.5f).ok());
  const std::vector<uint64_t> asked{keys[2], keys[1], MakeKey(0, 77)};
  std::vector<float> got(6, -1);
  size_t missing = 0;
  CHECK(server.handlers->Get(Span(asked), 2, got.data(), &missing).ok());
  CHECK((got == std::vector<float>{5, 6, -2, -6, 0, 0}));
  CHECK(missing == 1);
}

TEST(BadRequestsAreRefusedWithTheLimitAndStoreNothing) {
  Server server;
  const std::vector<float> rows(10, 1.0f);
  const std::vector<uint64_t> five{0, 1, 2, 3, 4};
  Status status = server.handlers->Put(Span(five), 2, rows.data(), 40);
  CHECK(status.code == Code::kTooLarge);
  CHECK_CONTAINS(status.message, "--max_batch_keys=4");
  const std::vector<uint64_t> unknown{0, MakeKey(2, 0)};
  status = server.handlers->Put(Span(unknown), 2, rows.data(), 16);
  CHECK(status.code == Code::kNotFound);
  CHECK_CONTAINS(status.message, "unknown table 2 (--tables=2)");
  const std::vector<uint64_t> one{0};
  status = server.handlers->Put(Span(one), 3, rows.data(), 12);
  CHECK(status.code == Code::kInvalidArgument);
  CHECK_CONTAINS(status.message, "dimension 3, but the tables have --dim=2");
  status = server.handlers->Update(Span(one), 2, rows.data(), 12, 1.0f);
  CHECK_CONTAINS(status.message, "12 bytes of rows for 1 keys of dimension 2; expected 8");
  CHECK(server.engine->RowCount() == 0);
}

TEST(CheckpointsComeBackWholeOrNotAtAll) {
  const std::string path = TemporaryPath("checkpoint");
  Server server;
  std::vector<uint64_t> keys{MakeKey(0, 1), MakeKey(1, 2), MakeKey(1, 3)};
  const std::vector<float> rows{1, 2, 3, 4, 5, 6};
  CHECK(server.handlers->Put(Span(keys), 2, rows.data(), 24).ok());
  CHECK(server.engine->Checkpoint(path).ok());

  Server restored;
  CHECK(RestoreCheckpoint(path, 2, restored.engine.get()).ok());
  std::vector<float> got(6);
  size_t missing = 0;
  CHECK(restored.handlers->Get(Span(keys), 2, got.data(), &missing).ok());
  CHECK(got == rows && missing == 0);

  Server other;
  CHECK_CONTAINS(RestoreCheckpoint(path, 3, other.engine.get()).message, "has dimension 2, the server 3");
  CHECK(truncate(path.c_str(), 40) == 0);
  CHECK_CONTAINS(RestoreCheckpoint(path, 2, other.engine.get()).message, "truncated");
  CHECK(other.engine->RowCount() == 0);
  unlink(path.c_str());
  CHECK_CONTAINS(server.engine->Checkpoint("/nonexistent/x").message, "No such file");
}

TEST(FlagsTakeBothSpellings) {
  const char* arguments[] = {"program", "--batch-keys", "12", "--name=x=y", "--fault", "a", "--fault=b", "--quick"};
  const Flags flags(8, const_cast<char**>(arguments), "",
                    {{"batch_keys", "1", ""}, {"name", "", ""}, {"fault", "", ""}, {"quick", "false", ""}});
  CHECK(flags.Integer("batch_keys", 0, 100) == 12);
  CHECK(flags.Text("name") == "x=y");
  CHECK((flags.All("fault") == std::vector<std::string>{"a", "b"}));
  CHECK(flags.Switch("quick"));
  CHECK((SplitList("a,,b,", ',') == std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace psdemo

int main() {
  using namespace psdemo::test;
  int failed = 0;
  for (const Test& test : Tests()) {
    const int before = FailedChecks();
    test.run();
    const bool ok = FailedChecks() == before;
    failed += ok ? 0 : 1;
    std::printf("%s %s\n", ok ? "ok  " : "FAIL", test.name);
  }
  std::printf("%zu passed, %d failed\n", Tests().size() - failed, failed);
  return failed == 0 ? 0 : 1;
}

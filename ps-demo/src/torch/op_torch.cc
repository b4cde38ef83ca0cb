// torch.ops.psdemo.*: the parameter client as PyTorch ops. PyTorch releases the GIL while an op runs.
//
// emb_read, emb_write and emb_update run on the calling thread; their *_async forms run on the thread ps-io, return a
// ticket, and are collected with wait.
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <memory>
#include <mutex>
#include <unordered_map>

#include "client/client.h"
#include "perf/perf.h"
#include "torch/client_op.h"
#include "torch/worker.h"

namespace psdemo {
namespace {

using c10::List;

struct Session {
  std::unique_ptr<ClientOp> client;
  std::unique_ptr<Worker> worker;                 // started by the first *_async op
  std::unordered_map<int64_t, at::Tensor> reads;  // what emb_read_async will have filled, by ticket
};

// One per process, as there is one trainer in it.
Session session;
std::mutex session_mutex;

ClientOp* RequireClient() {
  TORCH_CHECK(session.client != nullptr, "psdemo: call torch.ops.psdemo.init first");
  return session.client.get();
}

Worker* RequireWorker() {
  const std::lock_guard<std::mutex> lock(session_mutex);
  if (session.worker == nullptr) session.worker = std::make_unique<Worker>();
  return session.worker.get();
}

// A one-dimensional, contiguous int64 tensor in CPU memory.
at::Tensor ToCpuKeys(const at::Tensor& keys) {
  TORCH_CHECK(keys.dim() == 1 && keys.scalar_type() == at::kLong, "psdemo: keys must be a 1-d int64 tensor");
  return keys.to(at::kCPU).contiguous();
}

at::Tensor ToCpuKeysForRead(const at::Tensor& keys) {
  PERF_SCOPE("OP.EmbRead.ToCPUKeys");
  return ToCpuKeys(keys);
}

at::Tensor ToCpuRows(const at::Tensor& rows, const at::Tensor& keys, size_t dim) {
  TORCH_CHECK(rows.dim() == 2 && rows.scalar_type() == at::kFloat, "psdemo: rows must be a 2-d float32 tensor");
  TORCH_CHECK(rows.size(0) == keys.size(0) && rows.size(1) == static_cast<int64_t>(dim), "psdemo: rows are ",
              rows.size(0), " x ", rows.size(1), " for ", keys.size(0), " keys of dimension ", dim);
  return rows.to(at::kCPU).contiguous();
}

// Keys are int64 in PyTorch, which has no uint64, and uint64 elsewhere.
KeySpan SpanOf(const at::Tensor& keys) {
  return {reinterpret_cast<const uint64_t*>(keys.data_ptr<int64_t>()), static_cast<size_t>(keys.size(0))};
}

at::Tensor NewRows(const at::Tensor& keys, size_t dim) {
  return at::empty({keys.size(0), static_cast<int64_t>(dim)}, at::kFloat);
}

void Init(const std::string& transport, const List<std::string>& servers, int64_t dim, int64_t timeout_ms,
          const List<std::string>& faults, const std::string& ofi_rendezvous, const std::string& ofi_namespace,
          const std::string& ofi_provider, const std::string& ofi_put) {
  TORCH_CHECK(session.client == nullptr, "psdemo: init was called before");
  TORCH_CHECK(dim > 0, "psdemo: dim must be over 0");
  ClientOptions options;
  options.transport = transport;
  options.servers = servers.vec();
  options.dim = static_cast<size_t>(dim);
  options.timeout = std::chrono::milliseconds(timeout_ms);
  options.ofi = {ofi_rendezvous, ofi_namespace, ofi_provider, ParseOfiPutMode(ofi_put)};
  session.client = std::make_unique<ClientOp>(options, faults.vec());
  perf::Start(perf::OptionsFromEnvironment("trainer"));
}

// Finishes what ps-io still has, and writes the last window of timers.
void Fini() {
  session.worker.reset();
  session.reads.clear();
  session.client.reset();
  perf::Stop();
}

at::Tensor EmbRead(const at::Tensor& keys) {
  PERF_SCOPE("OP.EmbRead.Total");
  ClientOp* client = RequireClient();
  const at::Tensor cpu_keys = ToCpuKeysForRead(keys);
  at::Tensor rows = NewRows(cpu_keys, client->dim());
  client->EmbRead(SpanOf(cpu_keys), rows.data_ptr<float>());
  return rows;
}

void EmbWrite(const at::Tensor& keys, const at::Tensor& rows) {
  PERF_SCOPE("OP.EmbWrite.Total");
  ClientOp* client = RequireClient();
  const at::Tensor cpu_keys = ToCpuKeys(keys);
  const at::Tensor cpu_rows = ToCpuRows(rows, cpu_keys, client->dim());
  PERF_SCOPE("OP.EmbWrite.Call");
  client->EmbWrite(SpanOf(cpu_keys), cpu_rows.data_ptr<float>());
}

void EmbUpdate(const at::Tensor& keys, const at::Tensor& gradients, double learning_rate) {
  PERF_SCOPE("OP.EmbUpdate.Total");
  ClientOp* client = RequireClient();
  const at::Tensor cpu_keys = ToCpuKeys(keys);
  const at::Tensor cpu_gradients = ToCpuRows(gradients, cpu_keys, client->dim());
  PERF_SCOPE("OP.EmbUpdate.Call");
  client->EmbUpdate(SpanOf(cpu_keys), cpu_gradients.data_ptr<float>(), static_cast<float>(learning_rate));
}

int64_t EmbReadAsync(const at::Tensor& keys) {
  ClientOp* client = RequireClient();
  const at::Tensor cpu_keys = ToCpuKeysForRead(keys);
  at::Tensor rows = NewRows(cpu_keys, client->dim());
  const int64_t ticket = RequireWorker()->Submit([client, cpu_keys, rows] {
    client->BeforeBackgroundRead();
    client->EmbRead(SpanOf(cpu_keys), rows.data_ptr<float>());
  });
  const std::lock_guard<std::mutex> lock(session_mutex);
  session.reads.emplace(ticket, rows);
  return ticket;
}

int64_t EmbWriteAsync(const at::Tensor& keys, const at::Tensor& rows) {
  ClientOp* client = RequireClient();
  const at::Tensor cpu_keys = ToCpuKeys(keys);
  const at::Tensor cpu_rows = ToCpuRows(rows, cpu_keys, client->dim());
  return RequireWorker()->Submit(
      [client, cpu_keys, cpu_rows] { client->EmbWrite(SpanOf(cpu_keys), cpu_rows.data_ptr<float>()); });
}

int64_t EmbUpdateAsync(const at::Tensor& keys, const at::Tensor& gradients, double learning_rate) {
  ClientOp* client = RequireClient();
  const at::Tensor cpu_keys = ToCpuKeys(keys);
  const at::Tensor cpu_gradients = ToCpuRows(gradients, cpu_keys, client->dim());
  return RequireWorker()->Submit([client, cpu_keys, cpu_gradients, learning_rate] {
    client->EmbUpdate(SpanOf(cpu_keys), cpu_gradients.data_ptr<float>(), static_cast<float>(learning_rate));
  });
}

// The rows of an emb_read_async; an empty tensor for the other tickets.
at::Tensor Wait(int64_t ticket) {
  RequireClient();
  RequireWorker()->Wait(ticket);
  const std::lock_guard<std::mutex> lock(session_mutex);
  const auto found = session.reads.find(ticket);
  if (found == session.reads.end()) return at::empty({0}, at::kFloat);
  at::Tensor rows = found->second;
  session.reads.erase(found);
  return rows;
}

}  // namespace

TORCH_LIBRARY(psdemo, library) {
  library.def(
      "init(str transport, str[] servers, int dim, int timeout_ms, str[] faults, str ofi_rendezvous='', "
      "str ofi_namespace='', str ofi_provider='shm', str ofi_put='read') -> ()",
      &Init);
  library.def("fini() -> ()", &Fini);
  library.def("emb_read(Tensor keys) -> Tensor", &EmbRead);
  library.def("emb_write(Tensor keys, Tensor rows) -> ()", &EmbWrite);
  library.def("emb_update(Tensor keys, Tensor gradients, float learning_rate) -> ()", &EmbUpdate);
  library.def("emb_read_async(Tensor keys) -> int", &EmbReadAsync);
  library.def("emb_write_async(Tensor keys, Tensor rows) -> int", &EmbWriteAsync);
  library.def("emb_update_async(Tensor keys, Tensor gradients, float learning_rate) -> int", &EmbUpdateAsync);
  library.def("wait(int ticket) -> Tensor", &Wait);
}

}  // namespace psdemo

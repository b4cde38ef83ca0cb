// The gRPC client: one asynchronous request per server, all in flight together, then a wait for all replies.
#include <grpcpp/grpcpp.h>

#include <cstring>
#include <functional>

#include "client/client.h"
#include "client/key_split.h"
#include "perf/perf.h"
#include "ps.grpc.pb.h"

namespace psdemo {
namespace {

Code FromGrpc(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK: return Code::kOk;
    case grpc::StatusCode::INVALID_ARGUMENT: return Code::kInvalidArgument;
    case grpc::StatusCode::NOT_FOUND: return Code::kNotFound;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return Code::kTooLarge;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED: return Code::kUnavailable;
    default: return Code::kInternal;
  }
}

// The part of a batch that one server holds.
template <class Request, class Reply>
struct ServerCall {
  size_t server = 0;
  const std::vector<uint32_t>* positions = nullptr;
  Request request;
  Reply reply;
  grpc::ClientContext context;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader;
};

// All calls of one batch; the queue is its own, so batches of several threads do not meet.
template <class Request, class Reply>
class Batch {
 public:
  using OneCall = ServerCall<Request, Reply>;

  explicit Batch(const std::vector<std::vector<uint32_t>>& split) {
    for (size_t server = 0; server < split.size(); ++server) {
      if (split[server].empty()) continue;
      calls_.push_back(std::make_unique<OneCall>());
      calls_.back()->server = server;
      calls_.back()->positions = &split[server];
    }
  }

  std::vector<std::unique_ptr<OneCall>>& calls() { return calls_; }

  // `start(call, queue)` returns the reader of the started RPC.
  template <class StartRpc>
  void Start(std::chrono::milliseconds timeout, StartRpc&& start) {
    const auto deadline = std::chrono::system_clock::now() + timeout;
    for (auto& call : calls_) {
      call->context.set_deadline(deadline);
      call->reader = start(call.get(), &queue_);
      call->reader->Finish(&call->reply, &call->status, call.get());
    }
  }

  // Waits for every reply; throws the first failure, after all have arrived.
  void Wait(const std::vector<std::string>& addresses) {
    void* tag = nullptr;
    bool ok = false;
    for (size_t i = 0; i < calls_.size(); ++i) queue_.Next(&tag, &ok);
    for (const auto& call : calls_) {
      if (call->status.ok()) continue;
      throw PsError(FromGrpc(call->status.error_code()),
                    "server " + addresses[call->server] + ": " + call->status.error_message());
    }
  }

 private:
  std::vector<std::unique_ptr<OneCall>> calls_;
  grpc::CompletionQueue queue_;
};

void AppendKeys(KeySpan keys, const std::vector<uint32_t>& positions,
                google::protobuf::RepeatedField<uint64_t>* packed) {
  packed->Resize(static_cast<int>(positions.size()), 0);
  uint64_t* out = packed->mutable_data();
  for (const uint32_t position : positions) *out++ = keys[position];
}

void AppendRows(const float* rows, const std::vector<uint32_t>& positions, size_t dim, std::string* packed) {
  const size_t row_bytes = dim * sizeof(float);
  packed->resize(positions.size() * row_bytes);
  char* out = packed->data();
  for (const uint32_t position : positions) {
    std::memcpy(out, rows + position * dim, row_bytes);
    out += row_bytes;
  }
}

class GrpcClient : public Client {
 public:
  explicit GrpcClient(const ClientOptions& options)
      : options_(options), split_(options.servers.size(), options.hot_shard_skew) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    for (const std::string& address : options.servers) {
      stubs_.push_back(
          ParameterServer::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)));
    }
  }

  size_t Get(KeySpan keys, float* rows) override {
    PERF_SCOPE("Client.GetParameter.Total");
    const auto split = split_.Split(keys);
    Batch<GetRequest, GetReply> batch(split);
    {
      PERF_SCOPE("Client.GetParameter.Serialize");
      for (auto& call : batch.calls()) {
        AppendKeys(keys, *call->positions, call->request.mutable_keys());
        call->request.set_dim(static_cast<uint32_t>(options_.dim));
      }
    }
    batch.Start(options_.timeout, [this](auto* call, grpc::CompletionQueue* queue) {
      return stubs_[call->server]->AsyncGetParameter(&call->context, call->request, queue);
    });
    {
      PERF_SCOPE("Client.GetParameter.AsyncWait");
      batch.Wait(options_.servers);
    }
    size_t missing = 0;
    for (const auto& call : batch.calls()) {
      CopyRows(*call->positions, call->reply.rows(), options_.servers[call->server], rows);
      missing += call->reply.missing();
    }
    return missing;
  }

  void Put(KeySpan keys, const float* rows) override {
    PERF_SCOPE("Client.PutParameter.Total");
    const auto split = split_.Split(keys);
    Batch<PutRequest, PutReply> batch(split);
    {
      PERF_SCOPE("Client.PutParameter.Serialize");
      for (auto& call : batch.calls()) {
        AppendKeys(keys, *call->positions, call->request.mutable_keys());
        AppendRows(rows, *call->positions, options_.dim, call->request.mutable_rows());
        call->request.set_dim(static_cast<uint32_t>(options_.dim));
      }
    }
    PERF_SCOPE("Client.PutParameter.RPC");
    batch.Start(options_.timeout, [this](auto* call, grpc::CompletionQueue* queue) {
      return stubs_[call->server]->AsyncPutParameter(&call->context, call->request, queue);
    });
    batch.Wait(options_.servers);
  }

  void Update(KeySpan keys, const float* gradients, float learning_rate) override {
    PERF_SCOPE("Client.UpdateParameter.Total");
    const auto split = split_.Split(keys);
    Batch<UpdateRequest, UpdateReply> batch(split);
    {
      PERF_SCOPE("Client.UpdateParameter.Serialize");
      for (auto& call : batch.calls()) {
        AppendKeys(keys, *call->positions, call->request.mutable_keys());
        AppendRows(gradients, *call->positions, options_.dim, call->request.mutable_gradients());
        call->request.set_dim(static_cast<uint32_t>(options_.dim));
        call->request.set_learning_rate(learning_rate);
      }
    }
    PERF_SCOPE("Client.UpdateParameter.RPC");
    batch.Start(options_.timeout, [this](auto* call, grpc::CompletionQueue* queue) {
      return stubs_[call->server]->AsyncUpdateParameter(&call->context, call->request, queue);
    });
    batch.Wait(options_.servers);
  }

 private:
  void CopyRows(const std::vector<uint32_t>& positions, const std::string& packed, const std::string& server,
                float* rows) const {
    const size_t row_bytes = options_.dim * sizeof(float);
    if (packed.size() != positions.size() * row_bytes) {
      throw PsError(Code::kInternal, "server " + server + ": " + std::to_string(packed.size()) + " bytes for " +
                                         std::to_string(positions.size()) + " rows");
    }
    const char* in = packed.data();
    for (const uint32_t position : positions) {
      std::memcpy(rows + position * options_.dim, in, row_bytes);
      in += row_bytes;
    }
  }

  const ClientOptions options_;
  const KeySplit split_;
  std::vector<std::unique_ptr<ParameterServer::Stub>> stubs_;
};

}  // namespace

std::unique_ptr<Client> MakeGrpcClient(const ClientOptions& options) { return std::make_unique<GrpcClient>(options); }

}  // namespace psdemo

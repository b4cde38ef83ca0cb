#include "ps/grpc_server.h"

#include <grpcpp/alarm.h>

#include <chrono>
#include <stdexcept>

#include "base/thread_name.h"

namespace psdemo {
namespace {

grpc::Status ToGrpc(const Status& status) {
  switch (status.code) {
    case Code::kOk: return grpc::Status::OK;
    case Code::kInvalidArgument: return {grpc::StatusCode::INVALID_ARGUMENT, status.message};
    case Code::kNotFound: return {grpc::StatusCode::NOT_FOUND, status.message};
    case Code::kTooLarge: return {grpc::StatusCode::RESOURCE_EXHAUSTED, status.message};
    case Code::kUnavailable: return {grpc::StatusCode::UNAVAILABLE, status.message};
    case Code::kInternal: break;
  }
  return {grpc::StatusCode::INTERNAL, status.message};
}

KeySpan KeysOf(const google::protobuf::RepeatedField<uint64_t>& keys) {
  return {keys.data(), static_cast<size_t>(keys.size())};
}

// std::string's buffer is aligned for any scalar once it is on the heap, and holds at most 15 bytes when it is not.
const float* FloatsOf(const std::string& bytes) { return reinterpret_cast<const float*>(bytes.data()); }

Status Serve(Handlers* handlers, const GetRequest& request, GetReply* reply) {
  const KeySpan keys = KeysOf(request.keys());
  if (handlers->Check(keys, request.dim()).ok()) {
    reply->mutable_rows()->resize(keys.size * request.dim() * sizeof(float));
  }
  size_t missing = 0;
  const Status status =
      handlers->Get(keys, request.dim(), reinterpret_cast<float*>(reply->mutable_rows()->data()), &missing);
  reply->set_missing(missing);
  return status;
}

Status Serve(Handlers* handlers, const PutRequest& request, PutReply*) {
  return handlers->Put(KeysOf(request.keys()), request.dim(), FloatsOf(request.rows()), request.rows().size());
}

Status Serve(Handlers* handlers, const UpdateRequest& request, UpdateReply*) {
  return handlers->Update(KeysOf(request.keys()), request.dim(), FloatsOf(request.gradients()),
                          request.gradients().size(), request.learning_rate());
}

Status Serve(Handlers* handlers, const CommandRequest& request, CommandReply* reply) {
  switch (request.kind()) {
    case CommandRequest::READY: reply->set_text(handlers->Ready()); return Status::Ok();
    case CommandRequest::STATS: reply->set_text(handlers->Stats()); return Status::Ok();
    case CommandRequest::FAULT_ON: return handlers->FaultOn(request.argument());
    case CommandRequest::FAULT_OFF: return handlers->FaultOff(request.argument());
    case CommandRequest::CHECKPOINT: return handlers->Checkpoint(request.argument(), reply->mutable_text());
    case CommandRequest::QUIT: handlers->Quit(); return Status::Ok();
    default: return {Code::kNotFound, "unknown command " + std::to_string(request.kind())};
  }
}

// One request from its acceptance to its reply; the completion queue's tags point at these.
class Call {
 public:
  virtual ~Call() = default;
  // `ok` is false when the queue shuts down or the client has gone.
  virtual void Proceed(bool ok) = 0;
};

template <class Request, class Reply>
class UnaryCall : public Call {
 public:
  using Accept = void (ParameterServer::AsyncService::*)(grpc::ServerContext*, Request*,
                                                         grpc::ServerAsyncResponseWriter<Reply>*,
                                                         grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*);

  // Deletes itself after its reply is sent or its queue shuts down.
  static void AcceptNext(Accept accept, ParameterServer::AsyncService* service, grpc::ServerCompletionQueue* queue,
                         Handlers* handlers) {
    auto* call = new UnaryCall(accept, service, queue, handlers);
    (service->*accept)(&call->context_, &call->request_, &call->writer_, queue, queue, call);
  }

  void Proceed(bool ok) override {
    if (!ok || replied_) {
      delete this;
      return;
    }
    AcceptNext(accept_, service_, queue_, handlers_);
    const Status status = Serve(handlers_, request_, &reply_);
    replied_ = true;
    if (status.ok()) {
      writer_.Finish(reply_, grpc::Status::OK, this);
    } else {
      writer_.FinishWithError(ToGrpc(status), this);
    }
  }

 private:
  UnaryCall(Accept accept, ParameterServer::AsyncService* service, grpc::ServerCompletionQueue* queue,
            Handlers* handlers)
      : accept_(accept), service_(service), queue_(queue), handlers_(handlers), writer_(&context_) {}

  const Accept accept_;
  ParameterServer::AsyncService* const service_;
  grpc::ServerCompletionQueue* const queue_;
  Handlers* const handlers_;
  grpc::ServerContext context_;
  Request request_;
  Reply reply_;
  grpc::ServerAsyncResponseWriter<Reply> writer_;
  bool replied_ = false;
};

}  // namespace

GrpcServer::GrpcServer(const std::string& address, int workers, Handlers* handlers) : handlers_(handlers) {
  grpc::ServerBuilder builder;
  // Without this, two servers could share a port and split its clients between them.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(&service_);
  // The batch limit is checked by the handlers, who name it; the transport's own limit would come first.
  builder.SetMaxReceiveMessageSize(-1);
  for (int i = 0; i < workers; ++i) queues_.push_back(builder.AddCompletionQueue());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port_ == 0) {
    for (auto& queue : queues_) queue->Shutdown();
    throw std::runtime_error("cannot listen on " + address + " (is the port taken?)");
  }
  for (int i = 0; i < workers; ++i) {
    workers_.emplace_back([this, i] { Work(i); });
    SetThreadName(workers_.back().native_handle(), "ps-worker-" + std::to_string(i));
  }
}

GrpcServer::~GrpcServer() {
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  // gRPC aborts when an operation starts on a queue that has shut down, so each worker shuts its own queue down,
  // between two calls, when this alarm reaches it.
  std::vector<grpc::Alarm> alarms(queues_.size());
  for (size_t i = 0; i < queues_.size(); ++i) {
    alarms[i].Set(queues_[i].get(), std::chrono::system_clock::now(), nullptr);
  }
  for (std::thread& worker : workers_) worker.join();
}

void GrpcServer::Work(int index) {
  grpc::ServerCompletionQueue* queue = queues_[index].get();
  using Service = ParameterServer::AsyncService;
  UnaryCall<GetRequest, GetReply>::AcceptNext(&Service::RequestGetParameter, &service_, queue, handlers_);
  UnaryCall<PutRequest, PutReply>::AcceptNext(&Service::RequestPutParameter, &service_, queue, handlers_);
  UnaryCall<UpdateRequest, UpdateReply>::AcceptNext(&Service::RequestUpdateParameter, &service_, queue, handlers_);
  UnaryCall<CommandRequest, CommandReply>::AcceptNext(&Service::RequestCommand, &service_, queue, handlers_);
  void* tag = nullptr;
  bool ok = false;
  bool stopping = false;
  while (queue->Next(&tag, &ok)) {
    if (tag == nullptr) {
      stopping = true;
      queue->Shutdown();
    } else {
      static_cast<Call*>(tag)->Proceed(ok && !stopping);
    }
  }
}

}  // namespace psdemo

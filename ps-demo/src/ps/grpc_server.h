// The asynchronous gRPC front: one completion queue per worker, and a fixed number of workers named ps-worker-N
// (gRPC's synchronous server would let its pool grow).
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ps.grpc.pb.h"
#include "ps/handlers.h"

namespace psdemo {

class GrpcServer {
 public:
  // Listens on `address` ("host:port", port 0 picks a free one). Throws std::runtime_error if that fails.
  GrpcServer(const std::string& address, int workers, Handlers* handlers);
  // Lets running requests finish for up to 2 s, then cancels them and joins the workers.
  ~GrpcServer();

  int port() const { return port_; }

 private:
  void Work(int index);

  Handlers* const handlers_;
  ParameterServer::AsyncService service_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::vector<std::thread> workers_;
  int port_ = 0;
};

}  // namespace psdemo

#include <stdexcept>

#include "client/client.h"

namespace psdemo {

OfiPutMode ParseOfiPutMode(const std::string& name) {
  if (name == "read") return OfiPutMode::kRead;
  if (name == "push") return OfiPutMode::kPush;
  throw std::invalid_argument("PUT mode '" + name + "' is neither read nor push");
}

std::unique_ptr<Client> MakeClient(const ClientOptions& options) {
  if (options.servers.empty() && options.transport != "ofi") throw std::invalid_argument("no server address given");
  if (options.timeout <= std::chrono::milliseconds(0)) throw std::invalid_argument("the RPC timeout must be over 0 ms");
  if (options.transport == "grpc") return MakeGrpcClient(options);
  if (options.transport == "ofi") return MakeOfiClient(options);
  throw std::invalid_argument("transport '" + options.transport + "' is neither grpc nor ofi");
}

}  // namespace psdemo

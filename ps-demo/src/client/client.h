// A parameter client: reads and writes rows on all servers, whatever the transport.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/keys.h"
#include "base/status.h"

namespace psdemo {

// How the payload of a PUT travels over RMA.
enum class OfiPutMode {
  kRead,  // the server fetches it from the client's memory
  kPush,  // the client writes it into the server's memory
};

// Throws std::invalid_argument unless `name` is "read" or "push".
OfiPutMode ParseOfiPutMode(const std::string& name);

// For the RMA transport: server and client must agree on all but the PUT mode.
struct OfiOptions {
  std::string rendezvous = "127.0.0.1:21211";  // memcached
  std::string run_namespace = "psdemo";        // prefix of this run's keys in memcached
  std::string provider = "shm";
  OfiPutMode put_mode = OfiPutMode::kRead;
};

struct ClientOptions {
  std::string transport = "grpc";    // or ofi
  std::vector<std::string> servers;  // "host:port" each, in the same order for every client
  size_t dim = 16;
  std::chrono::milliseconds timeout{60000};
  double hot_shard_skew = 0;  // fault hot-shard: this fraction of all keys goes to server 0
  OfiOptions ofi;
};

// Thread-safe unless a transport says otherwise. Every call throws PsError, which names the server, when a server
// refuses, cannot be reached or does not answer within the timeout.
class Client {
 public:
  virtual ~Client() = default;

  // Fills `rows` with `dim` floats per key, in the order of the keys. Returns how many keys no server holds (zeros).
  virtual size_t Get(KeySpan keys, float* rows) = 0;
  virtual void Put(KeySpan keys, const float* rows) = 0;
  virtual void Update(KeySpan keys, const float* gradients, float learning_rate) = 0;
};

// Throws std::invalid_argument for options that make no sense, std::runtime_error for a transport that this build does
// not have, PsError if the RMA transport cannot reach its servers.
std::unique_ptr<Client> MakeClient(const ClientOptions& options);

std::unique_ptr<Client> MakeGrpcClient(const ClientOptions& options);
std::unique_ptr<Client> MakeOfiClient(const ClientOptions& options);

}  // namespace psdemo

// How RMA clients find their servers: a few small records in memcached, under a prefix of this run.
//
//   PREFIX:servers          how many servers there are
//   PREFIX:server:I         address blob, base, rkey and limits of server I
//   PREFIX:server:I:clients counter, from which each client draws its slot
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "client/client.h"

namespace psdemo::ofi {

struct ServerRecord {
  std::string address_blob;
  uint64_t base = 0;
  uint64_t rkey = 0;
  uint64_t slots = 0;      // clients it has room for
  uint64_t slot_keys = 0;  // keys in the largest request
  uint64_t dim = 0;
};

// Each call is one exchange with memcached, bounded by a second; all throw PsError with kUnavailable, naming memcached,
// when that fails.
class Rendezvous {
 public:
  explicit Rendezvous(const OfiOptions& options);

  void Publish(size_t server, size_t servers, const ServerRecord& record);
  // Wait until the record is there, up to the deadline.
  size_t AwaitServerCount(std::chrono::steady_clock::time_point deadline);
  ServerRecord AwaitServer(size_t server, std::chrono::steady_clock::time_point deadline);
  // A slot that no other client of this server has.
  uint64_t DrawSlot(size_t server);

 private:
  std::string Await(const std::string& name, std::chrono::steady_clock::time_point deadline);
  // The value, or "" if there is none.
  std::string Get(const std::string& name);
  void Set(const std::string& name, const std::string& value);
  // Sends a command and returns the reply up to `terminator`.
  std::string Exchange(const std::string& command, const std::string& terminator);

  const std::string host_;
  const std::string port_;
  const std::string prefix_;
};

std::string FormatRecord(const ServerRecord& record);
// Throws PsError on a record that is malformed.
ServerRecord ParseRecord(const std::string& text);

}  // namespace psdemo::ofi

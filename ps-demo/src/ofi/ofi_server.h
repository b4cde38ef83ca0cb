// The RMA front of a server: one thread, "ofi-poll-N" for server N, that polls its clients' slots and answers by
// writing into their memory.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "client/client.h"
#include "ofi/endpoint.h"
#include "ofi/layout.h"
#include "ofi/rma_front.h"
#include "ps/handlers.h"

namespace psdemo::ofi {

struct OfiServerOptions {
  OfiOptions ofi;
  size_t index = 0;    // of this server
  size_t servers = 1;  // of the run
  uint64_t slots = 32;
  uint64_t slot_keys = 16384;
};

class OfiServer : public RmaFront {
 public:
  // Opens the endpoint and publishes it. Throws PsError.
  OfiServer(const OfiServerOptions& options, Handlers* handlers);
  ~OfiServer() override;

 private:
  struct Client {
    uint64_t served = 0;  // sequence of the last request that was answered
    Peer peer;
    uint64_t request_offset = 0;
    uint64_t reply_offset = 0;
  };

  void Poll();
  // Whether there was a request in that slot.
  bool ServeSlot(size_t index);
  void Greet(const RequestHeader& header, Client* client);
  // Checks the header, obtains the payload and calls the handler; rows of a Get go straight into the reply.
  Status Serve(const RequestHeader& header, size_t slot_offset, const Client& client, uint64_t* missing);
  void Reply(const Client& client, uint64_t sequence, const Status& status, uint64_t missing, size_t row_bytes);

  size_t SlotOffset(size_t index) const { return index * slot_bytes_; }

  const OfiServerOptions options_;
  Handlers* const handlers_;
  const size_t dim_;
  const size_t slot_bytes_;
  const size_t reply_offset_;  // where replies are built, behind the slots
  Endpoint endpoint_;
  std::vector<Client> clients_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace psdemo::ofi

// One libfabric endpoint with one registered arena: what RDMA hardware would give, from a software provider.
//
// Every transfer is one-sided: the peer's memory is named by its base and rkey, which reach us out of band. The
// software providers shm and tcp;ofi_rxm make progress only while somebody reads the completion queue, on the target
// side too, so both sides keep calling Progress().
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace psdemo::ofi {

using Deadline = std::chrono::steady_clock::time_point;

// A peer's endpoint and its arena.
struct Peer {
  fi_addr_t address = FI_ADDR_UNSPEC;
  uint64_t base = 0;  // what a remote address of offset 0 is; not always a pointer
  uint64_t rkey = 0;
};

// Not thread-safe: one thread owns an endpoint. Everything throws PsError; kUnavailable means that the deadline passed
// or the peer has gone.
class Endpoint {
 public:
  // `provider` is a libfabric provider name, e.g. "shm" or "tcp;ofi_rxm".
  Endpoint(const std::string& provider, size_t arena_bytes);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  char* arena() { return arena_.get(); }
  // What a peer must know of us.
  std::string AddressBlob() const;
  uint64_t base() const;
  uint64_t rkey() const { return fi_mr_key(region_.get()); }

  Peer Connect(const std::string& address_blob, uint64_t base, uint64_t rkey);

  // Arena bytes [local_offset, +size) to the peer's arena at remote_offset; returns once they are visible there.
  void Write(const Peer& peer, size_t local_offset, size_t remote_offset, size_t size, Deadline deadline);
  // The other way round.
  void Read(const Peer& peer, size_t local_offset, size_t remote_offset, size_t size, Deadline deadline);

  void Progress();

 private:
  template <class Fid>
  struct Close {
    void operator()(Fid* fid) const { fi_close(&fid->fid); }
  };
  template <class Fid>
  using Owned = std::unique_ptr<Fid, Close<Fid>>;

  struct FreeInfo {
    void operator()(fi_info* info) const { fi_freeinfo(info); }
  };

  void ChooseProvider(const std::string& provider);
  void Open(size_t arena_bytes);
  // Starts a transfer with `start` until the provider takes it, then waits for its completion.
  template <class Start>
  void Transfer(const char* what, Deadline deadline, Start&& start);
  // Whether a completion was read. Throws on a failed transfer.
  bool PollCompletion();

  // Closed in the reverse of this order.
  std::unique_ptr<fi_info, FreeInfo> info_;
  std::unique_ptr<char[]> arena_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> completions_;
  Owned<fid_mr> region_;
  Owned<fid_ep> endpoint_;
};

}  // namespace psdemo::ofi

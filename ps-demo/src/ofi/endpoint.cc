#include "ofi/endpoint.h"

#include <rdma/fi_errno.h>
#include <sched.h>

#include <cstring>

#include "base/status.h"

namespace psdemo::ofi {
namespace {

constexpr uint32_t kApiVersion = FI_VERSION(1, 17);
constexpr uint64_t kRequestedKey = 1;

void Check(int result, const char* call) {
  if (result != 0) throw PsError(Code::kInternal, std::string("libfabric: ") + call + ": " + fi_strerror(-result));
}

bool IsIpProvider(const std::string& provider) {
  return provider.rfind("tcp", 0) == 0 || provider.rfind("udp", 0) == 0 || provider.rfind("sockets", 0) == 0;
}

}  // namespace

Endpoint::Endpoint(const std::string& provider, size_t arena_bytes) {
  ChooseProvider(provider);
  Open(arena_bytes);
}

void Endpoint::ChooseProvider(const std::string& provider) {
  const std::unique_ptr<fi_info, FreeInfo> hints(fi_allocinfo());
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_RMA;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  // A write that has completed is in the peer's memory, not merely on its way.
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  hints->fabric_attr->prov_name = strdup(provider.c_str());  // fi_freeinfo frees it
  const bool ip = IsIpProvider(provider);
  fi_info* found = nullptr;
  const int result =
      fi_getinfo(kApiVersion, ip ? "127.0.0.1" : nullptr, nullptr, ip ? FI_SOURCE : 0, hints.get(), &found);
  if (result == -FI_ENODATA) {
    throw PsError(Code::kUnavailable, "libfabric has no provider '" + provider +
                                          "' for RMA on this machine (fi_getinfo: "
                                          "-FI_ENODATA)");
  }
  Check(result, "fi_getinfo");
  info_.reset(found);
}

void Endpoint::Open(size_t arena_bytes) {
  fid_fabric* fabric = nullptr;
  Check(fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric");
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  Check(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain");
  domain_.reset(domain);

  fi_av_attr av_attributes{};
  av_attributes.type = FI_AV_UNSPEC;
  fid_av* addresses = nullptr;
  Check(fi_av_open(domain, &av_attributes, &addresses, nullptr), "fi_av_open");
  addresses_.reset(addresses);
  fi_cq_attr cq_attributes{};
  cq_attributes.format = FI_CQ_FORMAT_CONTEXT;
  fid_cq* completions = nullptr;
  Check(fi_cq_open(domain, &cq_attributes, &completions, nullptr), "fi_cq_open");
  completions_.reset(completions);

  arena_ = std::make_unique<char[]>(arena_bytes);
  fid_mr* region = nullptr;
  Check(fi_mr_reg(domain, arena_.get(), arena_bytes, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                  kRequestedKey, 0, &region, nullptr),
        "fi_mr_reg");
  region_.reset(region);

  fid_ep* endpoint = nullptr;
  Check(fi_endpoint(domain, info_.get(), &endpoint, nullptr), "fi_endpoint");
  endpoint_.reset(endpoint);
  Check(fi_ep_bind(endpoint, &addresses->fid, 0), "fi_ep_bind(av)");
  Check(fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind(cq)");
  Check(fi_enable(endpoint), "fi_enable");
}

std::string Endpoint::AddressBlob() const {
  std::string blob(256, '\0');
  size_t size = blob.size();
  Check(fi_getname(&endpoint_->fid, blob.data(), &size), "fi_getname");
  blob.resize(size);
  return blob;
}

uint64_t Endpoint::base() const {
  // shm wants virtual addresses, tcp offsets into the region.
  return (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<uint64_t>(arena_.get()) : 0;
}

Peer Endpoint::Connect(const std::string& address_blob, uint64_t base, uint64_t rkey) {
  // A provider reads as much of the blob as its address format has.
  std::string padded = address_blob;
  padded.resize(256);
  Peer peer;
  peer.base = base;
  peer.rkey = rkey;
  if (fi_av_insert(addresses_.get(), padded.data(), 1, &peer.address, 0, nullptr) != 1) {
    throw PsError(Code::kUnavailable, "libfabric: fi_av_insert refused the peer's address");
  }
  return peer;
}

bool Endpoint::PollCompletion() {
  fi_cq_entry entry;
  const ssize_t result = fi_cq_read(completions_.get(), &entry, 1);
  if (result == 1) return true;
  if (result == -FI_EAGAIN) return false;
  fi_cq_err_entry error{};
  if (result == -FI_EAVAIL && fi_cq_readerr(completions_.get(), &error, 0) == 1) {
    throw PsError(Code::kUnavailable, std::string("libfabric: transfer failed: ") + fi_strerror(error.err));
  }
  throw PsError(Code::kInternal, std::string("libfabric: fi_cq_read: ") + fi_strerror(static_cast<int>(-result)));
}

void Endpoint::Progress() { PollCompletion(); }

template <class Start>
void Endpoint::Transfer(const char* what, Deadline deadline, Start&& start) {
  bool started = false;
  for (;;) {
    if (!started) {
      const ssize_t result = start();
      if (result != 0 && result != -FI_EAGAIN) {
        throw PsError(Code::kUnavailable,
                      std::string("libfabric: ") + what + ": " + fi_strerror(static_cast<int>(-result)));
      }
      started = result == 0;
    }
    // Before a transfer is started there is none whose completion this could be.
    if (PollCompletion()) return;
    if (std::chrono::steady_clock::now() > deadline) {
      throw PsError(Code::kUnavailable, std::string("libfabric: ") + what + " did not complete in time");
    }
    sched_yield();
  }
}

void Endpoint::Write(const Peer& peer, size_t local_offset, size_t remote_offset, size_t size, Deadline deadline) {
  Transfer("fi_write", deadline, [&] {
    return fi_write(endpoint_.get(), arena_.get() + local_offset, size, fi_mr_desc(region_.get()), peer.address,
                    peer.base + remote_offset, peer.rkey, nullptr);
  });
}

void Endpoint::Read(const Peer& peer, size_t local_offset, size_t remote_offset, size_t size, Deadline deadline) {
  Transfer("fi_read", deadline, [&] {
    return fi_read(endpoint_.get(), arena_.get() + local_offset, size, fi_mr_desc(region_.get()), peer.address,
                   peer.base + remote_offset, peer.rkey, nullptr);
  });
}

}  // namespace psdemo::ofi

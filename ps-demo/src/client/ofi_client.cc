// The RMA client: writes requests into its slot on each server, and polls its own memory for the replies.
#include <sched.h>

#include <cstring>
#include <mutex>

#include "client/client.h"
#include "client/key_split.h"
#include "ofi/endpoint.h"
#include "ofi/layout.h"
#include "ofi/rendezvous.h"
#include "perf/perf.h"

namespace psdemo {
namespace {

using namespace ofi;

// What this client knows of one server.
struct Link {
  ServerRecord record;
  uint64_t slot_offset = 0;     // in the server's arena
  uint64_t request_offset = 0;  // the slot's copy in ours
  uint64_t reply_offset = 0;
  uint64_t sequence = 0;  // of the last request
  Peer peer;
};

class OfiClient : public Client {
 public:
  explicit OfiClient(const ClientOptions& options) : options_(options) {
    const Deadline deadline = NewDeadline();
    Rendezvous rendezvous(options.ofi);
    const size_t servers = rendezvous.AwaitServerCount(deadline);
    size_t arena_bytes = 0;
    for (size_t server = 0; server < servers; ++server) {
      links_.push_back(Draw(&rendezvous, server, deadline, &arena_bytes));
    }
    split_ = std::make_unique<KeySplit>(servers, options.hot_shard_skew);
    endpoint_ = std::make_unique<Endpoint>(options.ofi.provider, arena_bytes);
    for (Link& link : links_) Greet(&link, deadline);
  }

  size_t Get(KeySpan keys, float* rows) override {
    PERF_SCOPE("Client.GetParameter.Total");
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto split = SplitWithinLimits(keys);
    const Deadline deadline = NewDeadline();
    {
      PERF_SCOPE("Client.GetParameter.Serialize");
      for (size_t s = 0; s < links_.size(); ++s) BuildRequest(&links_[s], Op::kGet, Payload::kNone, keys, split[s], 0);
    }
    for (size_t s = 0; s < links_.size(); ++s) {
      if (!split[s].empty()) Send(&links_[s], KeyBytes(split[s].size()), deadline);
    }
    {
      PERF_SCOPE("Client.GetParameter.AsyncWait");
      AwaitReplies(split, deadline);
    }
    size_t missing = 0;
    const size_t row_bytes = RowBytes(1, options_.dim);
    for (size_t s = 0; s < links_.size(); ++s) {
      if (split[s].empty()) continue;
      const char* packed = Reply(links_[s]) + kBodyOffset;
      for (const uint32_t position : split[s]) {
        std::memcpy(rows + position * options_.dim, packed, row_bytes);
        packed += row_bytes;
      }
      missing += HeaderOf(links_[s]).missing;
    }
    return missing;
  }

  void Put(KeySpan keys, const float* rows) override {
    PERF_SCOPE("Client.PutParameter.Total");
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto split = SplitWithinLimits(keys);
    {
      PERF_SCOPE("Client.PutParameter.Serialize");
      BuildWithRows(Op::kPut, keys, rows, split, 0);
    }
    PERF_SCOPE("Client.PutParameter.RPC");
    SendRowsAndAwait(split);
  }

  void Update(KeySpan keys, const float* gradients, float learning_rate) override {
    PERF_SCOPE("Client.UpdateParameter.Total");
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto split = SplitWithinLimits(keys);
    {
      PERF_SCOPE("Client.UpdateParameter.Serialize");
      BuildWithRows(Op::kUpdate, keys, gradients, split, learning_rate);
    }
    PERF_SCOPE("Client.UpdateParameter.RPC");
    SendRowsAndAwait(split);
  }

 private:
  using Split = std::vector<std::vector<uint32_t>>;

  Deadline NewDeadline() const { return std::chrono::steady_clock::now() + options_.timeout; }
  char* Request(const Link& link) { return endpoint_->arena() + link.request_offset; }
  const char* Reply(const Link& link) { return endpoint_->arena() + link.reply_offset; }
  static std::string Name(size_t server) { return "server " + std::to_string(server) + ": "; }

  ReplyHeader HeaderOf(const Link& link) {
    ReplyHeader header;
    std::memcpy(&header, Reply(link) + kHeaderOffset, sizeof header);
    return header;
  }

  Link Draw(Rendezvous* rendezvous, size_t server, Deadline deadline, size_t* arena_bytes) const {
    Link link;
    link.record = rendezvous->AwaitServer(server, deadline);
    if (link.record.dim != options_.dim) {
      throw PsError(Code::kInvalidArgument, Name(server) + "dimension " + std::to_string(options_.dim) +
                                                ", but the tables have --dim=" + std::to_string(link.record.dim));
    }
    const uint64_t slot = rendezvous->DrawSlot(server);
    if (slot >= link.record.slots) {
      throw PsError(Code::kTooLarge, Name(server) + "all of --ofi_slots=" + std::to_string(link.record.slots) +
                                         " client slots are taken");
    }
    const size_t area_bytes = RequestAreaBytes(link.record.slot_keys, options_.dim);
    link.slot_offset = slot * area_bytes;
    link.request_offset = *arena_bytes;
    link.reply_offset = link.request_offset + area_bytes;
    *arena_bytes = link.reply_offset + ReplyAreaBytes(link.record.slot_keys, options_.dim);
    return link;
  }

  void Greet(Link* link, Deadline deadline) {
    link->peer = endpoint_->Connect(link->record.address_blob, link->record.base, link->record.rkey);
    RequestHeader header{};
    header.op = Op::kHello;
    header.client_base = endpoint_->base();
    header.client_rkey = endpoint_->rkey();
    header.request_offset = link->request_offset;
    header.reply_offset = link->reply_offset;
    const std::string blob = endpoint_->AddressBlob();
    header.address_bytes = static_cast<uint32_t>(blob.size());
    std::memcpy(header.address, blob.data(), blob.size());
    std::memcpy(Request(*link) + kHeaderOffset, &header, sizeof header);
    Send(link, 0, deadline);
    AwaitReply(static_cast<size_t>(link - links_.data()), deadline);
  }

  Split SplitWithinLimits(KeySpan keys) const {
    Split split = split_->Split(keys);
    for (size_t s = 0; s < split.size(); ++s) {
      if (split[s].size() > links_[s].record.slot_keys) {
        throw PsError(Code::kTooLarge,
                      Name(s) + "batch of " + std::to_string(split[s].size()) +
                          " keys is over --ofi_slot_keys=" + std::to_string(links_[s].record.slot_keys));
      }
    }
    return split;
  }

  void BuildRequest(Link* link, Op op, Payload payload, KeySpan keys, const std::vector<uint32_t>& positions,
                    float learning_rate) {
    RequestHeader header{};
    header.op = op;
    header.payload = payload;
    header.keys = positions.size();
    header.dim = static_cast<uint32_t>(options_.dim);
    header.learning_rate = learning_rate;
    std::memcpy(Request(*link) + kHeaderOffset, &header, sizeof header);
    auto* out = reinterpret_cast<uint64_t*>(Request(*link) + kBodyOffset);
    for (const uint32_t position : positions) *out++ = keys[position];
  }

  void BuildWithRows(Op op, KeySpan keys, const float* rows, const Split& split, float learning_rate) {
    const bool push = options_.ofi.put_mode == OfiPutMode::kPush;
    const size_t row_bytes = RowBytes(1, options_.dim);
    for (size_t s = 0; s < links_.size(); ++s) {
      BuildRequest(&links_[s], op, push ? Payload::kPushed : Payload::kToRead, keys, split[s], learning_rate);
      char* out = Request(links_[s]) + kBodyOffset + KeyBytes(split[s].size());
      for (const uint32_t position : split[s]) {
        std::memcpy(out, rows + position * options_.dim, row_bytes);
        out += row_bytes;
      }
    }
  }

  void SendRowsAndAwait(const Split& split) {
    const Deadline deadline = NewDeadline();
    const bool push = options_.ofi.put_mode == OfiPutMode::kPush;
    for (size_t s = 0; s < links_.size(); ++s) {
      if (split[s].empty()) continue;
      const size_t pushed_bytes = push ? RowBytes(split[s].size(), options_.dim) : 0;
      Send(&links_[s], KeyBytes(split[s].size()) + pushed_bytes, deadline);
    }
    AwaitReplies(split, deadline);
  }

  // The body first; the sequence word, which starts the server, once the body is there.
  void Send(Link* link, size_t body_bytes, Deadline deadline) {
    StoreSequence(Request(*link), ++link->sequence);
    try {
      endpoint_->Write(link->peer, link->request_offset + kHeaderOffset, link->slot_offset + kHeaderOffset,
                       kBodyOffset - kHeaderOffset + body_bytes, deadline);
      endpoint_->Write(link->peer, link->request_offset, link->slot_offset, sizeof(uint64_t), deadline);
    } catch (const PsError& error) {
      throw PsError(error.code(), Name(static_cast<size_t>(link - links_.data())) + error.what());
    }
  }

  void AwaitReplies(const Split& split, Deadline deadline) {
    for (size_t s = 0; s < links_.size(); ++s) {
      if (!split[s].empty()) AwaitReply(s, deadline);
    }
  }

  void AwaitReply(size_t server, Deadline deadline) {
    const Link& link = links_[server];
    while (LoadSequence(Reply(link)) != link.sequence) {
      endpoint_->Progress();
      if (std::chrono::steady_clock::now() > deadline) {
        throw PsError(Code::kUnavailable,
                      Name(server) + "no reply within " + std::to_string(options_.timeout.count()) + " ms");
      }
      sched_yield();
    }
    const ReplyHeader header = HeaderOf(link);
    if (header.code != static_cast<uint32_t>(Code::kOk)) {
      throw PsError(static_cast<Code>(header.code),
                    Name(server) + std::string(header.error, std::min<size_t>(header.error_bytes, kMaxErrorBytes)));
    }
  }

  const ClientOptions options_;
  std::mutex mutex_;
  std::vector<Link> links_;
  std::unique_ptr<KeySplit> split_;
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace

std::unique_ptr<Client> MakeOfiClient(const ClientOptions& options) { return std::make_unique<OfiClient>(options); }

}  // namespace psdemo

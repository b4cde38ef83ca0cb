#include "ofi/ofi_server.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/thread_name.h"
#include "ofi/rendezvous.h"

namespace psdemo::ofi {
namespace {

// A client that does not take its reply within this time is given up.
constexpr std::chrono::seconds kTransferTimeout{2};
// Polls without work before the thread lets others run. Without it, a machine with few cores would be busy with
// polling.
constexpr int kIdlePollsBeforeYield = 64;

Deadline TransferDeadline() { return std::chrono::steady_clock::now() + kTransferTimeout; }

}  // namespace

OfiServer::OfiServer(const OfiServerOptions& options, Handlers* handlers)
    : options_(options),
      handlers_(handlers),
      dim_(handlers->limits().dim),
      slot_bytes_(RequestAreaBytes(options.slot_keys, dim_)),
      reply_offset_(options.slots * slot_bytes_),
      endpoint_(options.ofi.provider, reply_offset_ + ReplyAreaBytes(options.slot_keys, dim_)),
      clients_(options.slots) {
  ServerRecord record;
  record.address_blob = endpoint_.AddressBlob();
  record.base = endpoint_.base();
  record.rkey = endpoint_.rkey();
  record.slots = options.slots;
  record.slot_keys = options.slot_keys;
  record.dim = dim_;
  Rendezvous(options.ofi).Publish(options.index, options.servers, record);
  thread_ = std::thread([this] { Poll(); });
  SetThreadName(thread_.native_handle(), "ofi-poll-" + std::to_string(options.index));
}

OfiServer::~OfiServer() {
  stop_ = true;
  thread_.join();
}

void OfiServer::Poll() {
  int idle_polls = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    bool served = false;
    try {
      endpoint_.Progress();
    } catch (const PsError& error) {
      std::fprintf(stderr, "warning: RMA: %s\n", error.what());
    }
    for (size_t i = 0; i < clients_.size(); ++i) served |= ServeSlot(i);
    idle_polls = served ? 0 : idle_polls + 1;
    if (idle_polls > kIdlePollsBeforeYield) sched_yield();
  }
}

bool OfiServer::ServeSlot(size_t index) {
  Client& client = clients_[index];
  const size_t slot_offset = SlotOffset(index);
  const char* slot = endpoint_.arena() + slot_offset;
  const uint64_t sequence = LoadSequence(slot);
  if (sequence == client.served) return false;
  client.served = sequence;
  RequestHeader header;
  std::memcpy(&header, slot + kHeaderOffset, sizeof header);
  try {
    uint64_t missing = 0;
    Status status;
    if (header.op == Op::kHello) {
      Greet(header, &client);
    } else {
      status = Serve(header, slot_offset, client, &missing);
    }
    const bool has_rows = header.op == Op::kGet && status.ok();
    Reply(client, sequence, status, missing, has_rows ? RowBytes(header.keys, dim_) : 0);
  } catch (const PsError& error) {
    std::fprintf(stderr, "warning: RMA client in slot %zu: %s\n", index, error.what());
  }
  return true;
}

void OfiServer::Greet(const RequestHeader& header, Client* client) {
  if (header.address_bytes > kMaxAddressBytes) throw PsError(Code::kInvalidArgument, "address blob too long");
  client->peer =
      endpoint_.Connect(std::string(header.address, header.address_bytes), header.client_base, header.client_rkey);
  client->request_offset = header.request_offset;
  client->reply_offset = header.reply_offset;
}

Status OfiServer::Serve(const RequestHeader& header, size_t slot_offset, const Client& client, uint64_t* missing) {
  if (header.keys > options_.slot_keys) {
    return {Code::kTooLarge, "batch of " + std::to_string(header.keys) +
                                 " keys is over --ofi_slot_keys=" + std::to_string(options_.slot_keys)};
  }
  char* body = endpoint_.arena() + slot_offset + kBodyOffset;
  const KeySpan keys{reinterpret_cast<const uint64_t*>(body), header.keys};
  const Status status = handlers_->Check(keys, header.dim);
  if (!status.ok()) return status;
  const size_t row_bytes = RowBytes(header.keys, dim_);
  if (header.op == Op::kGet) {
    auto* rows = reinterpret_cast<float*>(endpoint_.arena() + reply_offset_ + kBodyOffset);
    size_t missing_keys = 0;
    const Status got = handlers_->Get(keys, header.dim, rows, &missing_keys);
    *missing = missing_keys;
    return got;
  }
  const size_t payload_offset = kBodyOffset + KeyBytes(header.keys);
  if (header.payload == Payload::kToRead && row_bytes > 0) {
    endpoint_.Read(client.peer, slot_offset + payload_offset, client.request_offset + payload_offset, row_bytes,
                   TransferDeadline());
  }
  const auto* rows = reinterpret_cast<const float*>(endpoint_.arena() + slot_offset + payload_offset);
  if (header.op == Op::kPut) return handlers_->Put(keys, header.dim, rows, row_bytes);
  if (header.op == Op::kUpdate) return handlers_->Update(keys, header.dim, rows, row_bytes, header.learning_rate);
  return {Code::kInvalidArgument, "unknown RMA operation " + std::to_string(static_cast<uint32_t>(header.op))};
}

void OfiServer::Reply(const Client& client, uint64_t sequence, const Status& status, uint64_t missing,
                      size_t row_bytes) {
  ReplyHeader header{};
  header.code = static_cast<uint32_t>(status.code);
  header.error_bytes = static_cast<uint32_t>(std::min(status.message.size(), kMaxErrorBytes));
  header.missing = missing;
  std::memcpy(header.error, status.message.data(), header.error_bytes);
  char* reply = endpoint_.arena() + reply_offset_;
  std::memcpy(reply + kHeaderOffset, &header, sizeof header);
  StoreSequence(reply, sequence);
  const Deadline deadline = TransferDeadline();
  endpoint_.Write(client.peer, reply_offset_ + kHeaderOffset, client.reply_offset + kHeaderOffset,
                  kBodyOffset - kHeaderOffset + row_bytes, deadline);
  endpoint_.Write(client.peer, reply_offset_, client.reply_offset, sizeof(uint64_t), deadline);
}

}  // namespace psdemo::ofi

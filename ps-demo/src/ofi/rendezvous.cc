#include "ofi/rendezvous.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "ofi/layout.h"

namespace psdemo::ofi {
namespace {

constexpr size_t kMaxReplyBytes = 4096;

class Socket {
 public:
  Socket(const std::string& host, const std::string& port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int result = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    if (result != 0) throw PsError(Code::kUnavailable, gai_strerror(result));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
    fd_ = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
    const timeval timeout{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);  // connect too
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (connect(fd_, found->ai_addr, found->ai_addrlen) != 0) {
      const int error = errno;
      close(fd_);
      throw PsError(Code::kUnavailable, std::strerror(error));
    }
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

std::string ToHex(const std::string& bytes) {
  std::string hex;
  char pair[3];
  for (const unsigned char byte : bytes) {
    std::snprintf(pair, sizeof pair, "%02x", byte);
    hex += pair;
  }
  return hex;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

}  // namespace

std::string FormatRecord(const ServerRecord& record) {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers,
                "base=%" PRIu64 " rkey=%" PRIu64 " slots=%" PRIu64 " slot_keys=%" PRIu64 " dim=%" PRIu64 " address=",
                record.base, record.rkey, record.slots, record.slot_keys, record.dim);
  return numbers + ToHex(record.address_blob);
}

ServerRecord ParseRecord(const std::string& text) {
  ServerRecord record;
  char hex[2 * kMaxAddressBytes + 1];
  if (std::sscanf(text.c_str(),
                  "base=%" SCNu64 " rkey=%" SCNu64 " slots=%" SCNu64 " slot_keys=%" SCNu64 " dim=%" SCNu64
                  " address=%512[0-9a-f]",
                  &record.base, &record.rkey, &record.slots, &record.slot_keys, &record.dim, hex) != 6) {
    throw PsError(Code::kUnavailable, "rendezvous: malformed server record '" + text + "'");
  }
  record.address_blob = FromHex(hex);
  return record;
}

Rendezvous::Rendezvous(const OfiOptions& options)
    : host_(options.rendezvous.substr(0, options.rendezvous.rfind(':'))),
      port_(options.rendezvous.substr(options.rendezvous.rfind(':') + 1)),
      prefix_(options.run_namespace) {}

std::string Rendezvous::Exchange(const std::string& command, const std::string& terminator) {
  const std::string where = "rendezvous: memcached " + host_ + ":" + port_ + ": ";
  try {
    const Socket socket(host_, port_);
    if (send(socket.fd(), command.data(), command.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(command.size())) {
      throw PsError(Code::kUnavailable, std::strerror(errno));
    }
    std::string reply;
    while (reply.size() < terminator.size() ||
           reply.compare(reply.size() - terminator.size(), terminator.size(), terminator) != 0) {
      char part[1024];
      const ssize_t size = recv(socket.fd(), part, sizeof part, 0);
      if (size < 0) throw PsError(Code::kUnavailable, std::strerror(errno));
      if (size == 0 || reply.size() > kMaxReplyBytes) throw PsError(Code::kUnavailable, "not a memcached reply");
      reply.append(part, size);
    }
    return reply;
  } catch (const PsError& error) {
    throw PsError(Code::kUnavailable, where + error.what());
  }
}

void Rendezvous::Set(const std::string& name, const std::string& value) {
  const std::string command = "set " + prefix_ + ":" + name + " 0 0 " + std::to_string(value.size()) + "\r\n";
  const std::string reply = Exchange(command + value + "\r\n", "\r\n");
  if (reply != "STORED\r\n") throw PsError(Code::kUnavailable, "rendezvous: memcached refused " + name + ": " + reply);
}

std::string Rendezvous::Get(const std::string& name) {
  const std::string reply = Exchange("get " + prefix_ + ":" + name + "\r\n", "END\r\n");
  const size_t value_start = reply.find("\r\n") + 2;
  const size_t value_end = reply.find("\r\nEND\r\n", value_start);
  return value_end == std::string::npos ? "" : reply.substr(value_start, value_end - value_start);
}

std::string Rendezvous::Await(const std::string& name, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const std::string value = Get(name);
    if (!value.empty()) return value;
    if (std::chrono::steady_clock::now() > deadline) {
      throw PsError(Code::kUnavailable, "rendezvous: no " + prefix_ + ":" + name + " in memcached " + host_ + ":" +
                                            port_ + "; is the server running with the same --ofi_namespace?");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // memcached cannot notify
  }
}

void Rendezvous::Publish(size_t server, size_t servers, const ServerRecord& record) {
  Set("server:" + std::to_string(server) + ":clients", "0");
  Set("server:" + std::to_string(server), FormatRecord(record));
  Set("servers", std::to_string(servers));
}

size_t Rendezvous::AwaitServerCount(std::chrono::steady_clock::time_point deadline) {
  const std::string text = Await("servers", deadline);
  const size_t servers = std::strtoul(text.c_str(), nullptr, 10);
  if (servers == 0) throw PsError(Code::kUnavailable, "rendezvous: malformed server count '" + text + "'");
  return servers;
}

ServerRecord Rendezvous::AwaitServer(size_t server, std::chrono::steady_clock::time_point deadline) {
  return ParseRecord(Await("server:" + std::to_string(server), deadline));
}

uint64_t Rendezvous::DrawSlot(size_t server) {
  const std::string name = prefix_ + ":server:" + std::to_string(server) + ":clients";
  const std::string reply = Exchange("incr " + name + " 1\r\n", "\r\n");
  const uint64_t drawn = std::strtoull(reply.c_str(), nullptr, 10);
  if (drawn == 0) throw PsError(Code::kUnavailable, "rendezvous: memcached has no counter " + name + ": " + reply);
  return drawn - 1;
}

}  // namespace psdemo::ofi

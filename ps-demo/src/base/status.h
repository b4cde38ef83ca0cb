// The outcome of a request, the same for every transport.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace psdemo {

enum class Code {
  kOk,
  kInvalidArgument,  // the request contradicts itself or the server's configuration
  kNotFound,         // no such table, fault or command
  kTooLarge,         // over a limit; the message names the limit
  kUnavailable,      // the peer cannot be reached or did not answer in time
  kInternal,         // the store failed
};

struct Status {
  Code code = Code::kOk;
  std::string message;

  bool ok() const { return code == Code::kOk; }
  static Status Ok() { return {}; }
};

// What a client throws: `what()` says which server refused and why.
class PsError : public std::runtime_error {
 public:
  PsError(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

}  // namespace psdemo

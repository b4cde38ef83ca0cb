// The server's RMA front as main() sees it, whether this build has libfabric or not.
#pragma once

#include <memory>
#include <vector>

#include "base/flags.h"
#include "ps/handlers.h"

namespace psdemo {

// Serves until it is destroyed.
class RmaFront {
 public:
  virtual ~RmaFront() = default;
};

std::vector<FlagSpec> RmaFlagSpecs();

// Null unless --ofi_rendezvous is given. Throws PsError if the endpoint or the rendezvous fails, std::runtime_error if
// this build has no libfabric.
std::unique_ptr<RmaFront> MakeRmaFront(const Flags& flags, Handlers* handlers);

}  // namespace psdemo

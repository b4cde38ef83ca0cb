// In place of rma_front.cc where the build has no libfabric.
#include <stdexcept>

#include "ofi/rma_front.h"

namespace psdemo {

std::unique_ptr<RmaFront> MakeRmaFront(const Flags& flags, Handlers*) {
  if (flags.Text("ofi_rendezvous").empty()) return nullptr;
  throw std::runtime_error("this build has no libfabric (apt install libfabric-dev, then configure again)");
}

}  // namespace psdemo

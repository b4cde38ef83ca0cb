// In place of ofi_client.cc where the build has no libfabric.
#include <stdexcept>

#include "client/client.h"

namespace psdemo {

std::unique_ptr<Client> MakeOfiClient(const ClientOptions&) {
  throw std::runtime_error("this build has no libfabric (apt install libfabric-dev, then configure again)");
}

}  // namespace psdemo

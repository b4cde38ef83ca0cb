#include "ofi/rma_front.h"

namespace psdemo {

std::vector<FlagSpec> RmaFlagSpecs() {
  return {{"ofi_rendezvous", "", "memcached host:port; starts the RMA front"},
          {"ofi_namespace", "psdemo", "prefix of the rendezvous keys"},
          {"ofi_provider", "shm", "libfabric provider: shm or tcp;ofi_rxm"},
          {"ofi_index", "0", "which server of the run this is"},
          {"ofi_servers", "1", "how many servers the run has"},
          {"ofi_slots", "32", "RMA clients to make room for"},
          {"ofi_slot_keys", "16384", "largest number of keys in one RMA request"}};
}

}  // namespace psdemo

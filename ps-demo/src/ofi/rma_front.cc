#include "ofi/rma_front.h"

#include "ofi/ofi_server.h"

namespace psdemo {

std::unique_ptr<RmaFront> MakeRmaFront(const Flags& flags, Handlers* handlers) {
  if (flags.Text("ofi_rendezvous").empty()) return nullptr;
  ofi::OfiServerOptions options;
  options.ofi.rendezvous = flags.Text("ofi_rendezvous");
  options.ofi.run_namespace = flags.Text("ofi_namespace");
  options.ofi.provider = flags.Text("ofi_provider");
  options.index = flags.Integer("ofi_index", 0, 4095);
  options.servers = flags.Integer("ofi_servers", 1, 4096);
  options.slots = flags.Integer("ofi_slots", 1, 4096);
  options.slot_keys = flags.Integer("ofi_slot_keys", 1, 1 << 24);
  return std::make_unique<ofi::OfiServer>(options, handlers);
}

}  // namespace psdemo

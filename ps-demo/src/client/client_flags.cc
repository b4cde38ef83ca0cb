#include "client/client_flags.h"

namespace psdemo {

std::vector<FlagSpec> ClientFlagSpecs() {
  return {{"transport", "grpc", "grpc or ofi"},
          {"servers", "", "server addresses, host:port,host:port,..."},
          {"dim", "16", "floats per embedding row"},
          {"timeout_ms", "60000", "how long to wait for a reply"},
          {"ofi_rendezvous", "127.0.0.1:21211", "memcached that carries the addresses of the RMA servers"},
          {"ofi_namespace", "psdemo", "prefix of the rendezvous keys"},
          {"ofi_provider", "shm", "libfabric provider: shm or tcp;ofi_rxm"},
          {"ofi_put", "read", "PUT payload: read (the server reads it) or push (the client writes it)"}};
}

ClientOptions ClientOptionsFrom(const Flags& flags) {
  ClientOptions options;
  options.transport = flags.Text("transport");
  options.servers = SplitList(flags.Text("servers"), ',');
  options.dim = flags.Integer("dim", 1, 4096);
  options.timeout = std::chrono::milliseconds(flags.Integer("timeout_ms", 1, 86400000));
  options.ofi.rendezvous = flags.Text("ofi_rendezvous");
  options.ofi.run_namespace = flags.Text("ofi_namespace");
  options.ofi.provider = flags.Text("ofi_provider");
  options.ofi.put_mode = ParseOfiPutMode(flags.Text("ofi_put"));
  return options;
}

}  // namespace psdemo

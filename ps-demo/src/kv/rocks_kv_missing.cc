// In place of rocks_kv.cc where the build has no RocksDB.
#include <stdexcept>

#include "kv/engine.h"

namespace psdemo {

std::unique_ptr<KvEngine> MakeRocksEngine(const EngineOptions&, ServerFaults*) {
  throw std::runtime_error("this build has no RocksDB (apt install librocksdb-dev, then configure again)");
}

}  // namespace psdemo

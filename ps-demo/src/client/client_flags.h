// The flags by which a program is told where the servers are.
#pragma once

#include <vector>

#include "base/flags.h"
#include "client/client.h"

namespace psdemo {

std::vector<FlagSpec> ClientFlagSpecs();
ClientOptions ClientOptionsFrom(const Flags& flags);

}  // namespace psdemo

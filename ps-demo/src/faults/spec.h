// A planted fault as it is written on a command line: name[:key=value,...].
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace psdemo {

struct FaultSpec {
  std::string name;
  std::map<std::string, std::string> parameters;

  // The whole-number parameter `key`, or `fallback` if it is not given. Throws std::invalid_argument if it is not a
  // number within [minimum, maximum].
  int64_t Integer(const std::string& key, int64_t fallback, int64_t minimum, int64_t maximum) const;
  // The same for a fraction from 0 to 1.
  double Fraction(const std::string& key, double fallback) const;
};

// Throws std::invalid_argument with the part that is malformed.
FaultSpec ParseFault(const std::string& text);

}  // namespace psdemo

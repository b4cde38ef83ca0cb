#include "faults/spec.h"

#include <cstdlib>
#include <stdexcept>

#include "base/flags.h"

namespace psdemo {

int64_t FaultSpec::Integer(const std::string& key, int64_t fallback, int64_t minimum, int64_t maximum) const {
  const auto found = parameters.find(key);
  if (found == parameters.end()) return fallback;
  char* end = nullptr;
  const long long value = std::strtoll(found->second.c_str(), &end, 10);
  if (found->second.empty() || *end != '\0' || value < minimum || value > maximum) {
    throw std::invalid_argument("fault " + name + ": " + key + "=" + found->second + " is not a whole number from " +
                                std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return value;
}

double FaultSpec::Fraction(const std::string& key, double fallback) const {
  const auto found = parameters.find(key);
  if (found == parameters.end()) return fallback;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  if (found->second.empty() || *end != '\0' || !(value >= 0 && value <= 1)) {
    throw std::invalid_argument("fault " + name + ": " + key + "=" + found->second + " is not a fraction from 0 to 1");
  }
  return value;
}

FaultSpec ParseFault(const std::string& text) {
  FaultSpec spec;
  const size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  if (spec.name.empty()) throw std::invalid_argument("fault '" + text + "' has no name");
  if (colon == std::string::npos) return spec;
  for (const std::string& pair : SplitList(text.substr(colon + 1), ',')) {
    const size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw std::invalid_argument("fault " + spec.name + ": '" + pair + "' is not key=value");
    }
    spec.parameters[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return spec;
}

}  // namespace psdemo

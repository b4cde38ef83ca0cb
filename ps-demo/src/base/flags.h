// Command-line flags: --name value or --name=value, where '-' and '_' in names are the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace psdemo {

struct FlagSpec {
  std::string name;           // with '_'
  std::string default_value;  // "false" makes it a switch that needs no value
  std::string help;
};

class Flags {
 public:
  // Exits with 0 after --help and with 2 on an unknown flag or a missing value.
  Flags(int argc, char** argv, const std::string& about, std::vector<FlagSpec> specs);

  const std::string& Text(const std::string& name) const;
  bool Switch(const std::string& name) const;
  // Exits with 2 if the value is not a whole number within [minimum, maximum].
  int64_t Integer(const std::string& name, int64_t minimum, int64_t maximum) const;
  // Every value of a flag that was given several times, in order.
  const std::vector<std::string>& All(const std::string& name) const;

 private:
  const FlagSpec* Find(const std::string& name) const;
  void PrintHelp(const std::string& about) const;
  [[noreturn]] void Fail(const std::string& message) const;

  std::string program_;
  std::vector<FlagSpec> specs_;
  std::map<std::string, std::vector<std::string>> values_;
};

// "a,b,c" -> {"a","b","c"}; empty parts are dropped.
std::vector<std::string> SplitList(const std::string& text, char separator);

}  // namespace psdemo

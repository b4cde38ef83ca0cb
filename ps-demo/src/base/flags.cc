#include "base/flags.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace psdemo {

Flags::Flags(int argc, char** argv, const std::string& about, std::vector<FlagSpec> specs)
    : program_(argv[0]), specs_(std::move(specs)) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      PrintHelp(about);
      std::exit(0);
    }
    if (argument.rfind("--", 0) != 0) Fail("unexpected argument '" + argument + "'");
    const size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    std::replace(name.begin(), name.end(), '-', '_');
    const FlagSpec* spec = Find(name);
    if (spec == nullptr) Fail("unknown flag '--" + name + "'");
    if (equals != std::string::npos) {
      values_[name].push_back(argument.substr(equals + 1));
    } else if (spec->default_value == "false") {
      values_[name].push_back("true");
    } else if (i + 1 < argc) {
      values_[name].push_back(argv[++i]);
    } else {
      Fail("--" + name + " needs a value");
    }
  }
}

const std::string& Flags::Text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? Find(name)->default_value : found->second.back();
}

bool Flags::Switch(const std::string& name) const { return Text(name) == "true"; }

int64_t Flags::Integer(const std::string& name, int64_t minimum, int64_t maximum) const {
  const std::string& text = Text(name);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < minimum || value > maximum) {
    Fail("--" + name + "=" + text + " is not a whole number from " + std::to_string(minimum) + " to " +
         std::to_string(maximum));
  }
  return value;
}

const std::vector<std::string>& Flags::All(const std::string& name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

const FlagSpec* Flags::Find(const std::string& name) const {
  for (const FlagSpec& spec : specs_) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

void Flags::PrintHelp(const std::string& about) const {
  std::printf("%s\n\nusage: %s [--flag value]...\n\n", about.c_str(), program_.c_str());
  for (const FlagSpec& spec : specs_) {
    std::printf("  --%-22s %s [%s]\n", spec.name.c_str(), spec.help.c_str(), spec.default_value.c_str());
  }
}

void Flags::Fail(const std::string& message) const {
  std::fprintf(stderr, "error: %s\nhelp:  %s --help\n", message.c_str(), program_.c_str());
  std::exit(2);
}

std::vector<std::string> SplitList(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find(separator, start), text.size());
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace psdemo

// A test is a function; CHECK reports the expression that failed, and the run goes on.
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace psdemo::test {

struct Test {
  const char* name;
  std::function<void()> run;
};

inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

inline int& FailedChecks() {
  static int failed = 0;
  return failed;
}

struct Registration {
  Registration(const char* name, std::function<void()> run) { Tests().push_back({name, std::move(run)}); }
};

template <class Action>
std::string MessageOf(Action&& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace psdemo::test

#define TEST(name)                                                               \
  static void name();                                                            \
  static const ::psdemo::test::Registration registration_of_##name(#name, name); \
  static void name()

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++::psdemo::test::FailedChecks();                                            \
    }                                                                              \
  } while (false)

#define CHECK_CONTAINS(text, part) CHECK(std::string(text).find(part) != std::string::npos)

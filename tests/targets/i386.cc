// A 32-bit process without a C library, so that no multilib package is needed to build it: says `ready`, and exits
// when its input ends.
namespace {
int system_call(int number, int first, const void* second, int third) {
  int result;
  asm volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory");
  return result;
}
constexpr int kExit = 1, kRead = 3, kWrite = 4;
}  // namespace

extern "C" void _start() {
  static char byte;
  system_call(kWrite, 1, "ready\n", 6);
  while (system_call(kRead, 0, &byte, 1) > 0) {
  }
  system_call(kExit, 0, nullptr, 0);
}

// Computes without end below a standard algorithm, std::function and a recursion.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

__attribute__((noinline)) static long work(int n) {
  std::map<std::string, long> counts;
  for (int i = 0; i < 40; i++) counts[std::to_string((i * 7919 + n) % 61)] += i;
  long sum = 0;
  for (auto &entry : counts) sum += entry.second;
  return sum;
}

__attribute__((noinline)) static long descend(int depth, const std::function<long(int)> &then) {
  if (depth == 0) return then(depth);
  long below = descend(depth - 1, then);
  asm volatile("" : "+r"(below)::"memory");
  return below + depth;
}

int main() {
  printf("ready\n");
  fflush(stdout);
  std::vector<int> numbers(64);
  for (;;) {
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<int>((i * 2654435761u) % 97);
    std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
      long result = descend(24, [=](int n) { return work(n + a); });
      asm volatile("" ::"r"(result));
      return a < b;
    });
  }
}

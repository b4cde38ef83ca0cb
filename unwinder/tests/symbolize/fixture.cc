// What the symbolizer must say about the addresses marked in here.
//
// `MARK(x);  // frames: a > b | exported: c` puts an address on its line into the section `marks`. With debug
// information the address must symbolize to the function `a` with `b` inlined into it, `b` at this line and `a`
// at a line with a call of `b`. Where only the exported symbols are left it must be `c`, and `-` is
// `file+0x1234`: never the name of a neighbour.

#define MARK(name)                                  \
  asm volatile(                                     \
      "1: nop\n"                                    \
      ".pushsection marks, \"a\", @progbits\n"      \
      ".long 1b - .\n"                              \
      ".asciz \"" #name "\"\n"                      \
      ".popsection\n" ::: "memory")

// `noipa`: GCC would otherwise replace an exported function by a private clone.
#define EXPORTED [[gnu::noipa, gnu::visibility("default")]]

volatile int sink;

extern "C" EXPORTED void plain_c(int n) {
  sink = n;
  MARK(plain_c);  // frames: plain_c | exported: plain_c
}

// What CPython calls one of its functions; this is no CPython.
extern "C" EXPORTED void call_function(int n) {
  sink = n;
}

[[gnu::noinline]] static void static_neighbour(int n) {
  sink = n * 3;
  MARK(static_neighbour);  // frames: static_neighbour | exported: -
}

namespace store {

namespace {

[[gnu::noinline]] void helper(int n) {
  sink = n + 1;
  MARK(anonymous_namespace);  // frames: store::(anonymous namespace)::helper | exported: -
}

}  // namespace

class Shard {
 public:
  EXPORTED int handle(int key) const;

  template <typename Value, int WAYS>
  EXPORTED Value* find(Value* from) const {
    sink = WAYS;
    MARK(member_template);  // frames: store::Shard::find<long, 4> | exported: store::Shard::find<long, 4>
    return from;
  }

 private:
  int size = 7;
};

[[gnu::always_inline]] inline void innermost(int n) {
  sink = n;
  MARK(twice_inlined);  // frames: store::Shard::handle > store::middle > store::innermost | exported: store::Shard::handle
}

[[gnu::always_inline]] inline void middle(int n) {
  sink = n - 1;
  innermost(n);
}

int Shard::handle(int key) const {
  sink = size;
  middle(key);
  MARK(after_inlined);  // frames: store::Shard::handle | exported: store::Shard::handle
  return sink;
}

template <typename Function>
[[gnu::noinline]] void for_each(Function function) {
  for (int i = 0; i < 3; i++) {
    function(i);
  }
}

EXPORTED void with_lambda(int n) {
  for_each([n](int i) __attribute__((noinline)) {
    sink = i + n;
    MARK(lambda);  // frames: store::with_lambda::{lambda(int)#1}::operator() | exported: -
  });
  sink = 0;
}

namespace {

struct Local {
  [[gnu::always_inline]] static void visit(int n) {
    sink = n;
    MARK(inlined_local_class);  // frames: store::inlines_lambda > store::inlines_lambda::{lambda}::operator() > store::(anonymous namespace)::Local::visit | exported: store::inlines_lambda
  }
};

}  // namespace

EXPORTED void inlines_lambda(int n) {
  auto operator_call = [n](int i) __attribute__((always_inline)) { sink = i; Local::visit(n + i); };
  operator_call(2);
  sink = 1;
}

EXPORTED Shard operator+(Shard left, const Shard&) {
  sink = 9;
  MARK(operator);  // frames: store::operator+ | exported: store::operator+
  return left;
}

}  // namespace store

// Assembly that states no size reaches to the next symbol, where static functions are known too.
asm(".text\n"
    "unsized_assembly:\n"
    "1: nop\n"
    ".pushsection marks, \"a\", @progbits\n"
    ".long 1b - .\n"
    ".asciz \"unsized_assembly\"\n"  // frames: unsized_assembly | exported: -
    ".popsection\n"
    "ret\n");

EXPORTED int use_everything(store::Shard* shard, long* value) {
  plain_c(1);
  static_neighbour(2);
  store::helper(3);
  store::with_lambda(4);
  shard->find<long, 4>(value);
  *shard = *shard + *shard;
  return shard->handle(5);
}

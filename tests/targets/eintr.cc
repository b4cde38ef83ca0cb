// Threads that sit in system calls, and count how often one ends with EINTR. Nothing here sends a signal, so every
// EINTR was caused from outside. The first seven are the calls in which even a ptrace stop without a signal shows.
// The `often_` threads make such calls again and again, computing a little in between: who looks at a thread that
// computes, and stops it, may find it asleep by then.
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "protocol.h"

namespace {
struct Sitter {
  std::string name;
  std::function<long()> call;
  std::atomic<long> interrupted{0};
};
std::vector<Sitter*> sitters;
std::atomic<int> seated{0};

// `call` is repeated for ever; it returns -1 with errno set, as system calls do.
void sit(const char* name, std::function<long()> call) {
  auto* sitter = new Sitter{name, std::move(call)};
  sitters.push_back(sitter);
  std::thread([sitter] {
    name_thread(sitter->name);
    seated++;
    for (;;) {
      errno = 0;
      long result = sitter->call();
      if (result == -1 && errno == EINTR) {
        sitter->interrupted++;
      } else if (result == -1 && errno == EIDRM) {
        return;
      } else if (result == -1 && errno != EAGAIN && errno != ETIMEDOUT) {
        perror(sitter->name.c_str());
        _exit(1);
      }
    }
  }).detach();
}

// A time in which a tick hits often, and after which a stop comes too late as often.
void compute() {
  for (long long until = clock_ns(CLOCK_MONOTONIC) + 30000; clock_ns(CLOCK_MONOTONIC) < until;) {
  }
}

void sit_everywhere() {
  static int semaphores = semget(IPC_PRIVATE, 1, 0600);
  static int sockets[2], pipe_ends[2], events = epoll_create1(0), futex_word = 0;
  static aio_context_t aio = 0;
  static sigset_t no_one_sends;
  if (semaphores < 0 || events < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 || pipe(pipe_ends) != 0 ||
      syscall(SYS_io_setup, 1, &aio) != 0) {
    perror("eintr");
    _exit(1);
  }
  // It would outlive this process. Removing it wakes the two that wait for it, which is their end too.
  at_quick_exit([] { semctl(semaphores, 0, IPC_RMID); });
  timeval hour = {3600, 0};
  setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &hour, sizeof hour);
  sigemptyset(&no_one_sends);
  sigaddset(&no_one_sends, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &no_one_sends, nullptr);

  static const timespec long_time = {3600, 0};
  sit("epoll_wait", [] { epoll_event event; return epoll_wait(events, &event, 1, -1); });
  sit("epoll_pwait2", [] { epoll_event event; return syscall(SYS_epoll_pwait2, events, &event, 1, &long_time, nullptr, 8); });
  sit("recv", [] { char byte; return recv(sockets[0], &byte, 1, 0); });
  sit("semop", [] { sembuf take = {0, -1, 0}; return semop(semaphores, &take, 1); });
  sit("semtimedop", [] { sembuf take = {0, -1, 0}; return semtimedop(semaphores, &take, 1, &long_time); });
  sit("sigtimedwait", [] { return sigtimedwait(&no_one_sends, nullptr, &long_time); });
  sit("io_getevents", [] { io_event event; return syscall(SYS_io_getevents, aio, 1, 1, &event, nullptr); });
  sit("nanosleep", [] { return syscall(SYS_nanosleep, &long_time, nullptr); });
  sit("futex", [] { return syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0); });
  sit("poll", [] { pollfd waiting = {pipe_ends[0], POLLIN, 0}; return poll(&waiting, 1, -1); });
  sit("read", [] { char byte; return read(pipe_ends[0], &byte, 1); });

  static int impatient[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, impatient) != 0) _exit(1);
  timeval millisecond = {0, 1000};
  setsockopt(impatient[0], SOL_SOCKET, SO_RCVTIMEO, &millisecond, sizeof millisecond);
  static const timespec short_time = {0, 1000000};
  sit("often_epoll", [] { epoll_event event; return compute(), epoll_wait(events, &event, 1, 1); });
  sit("often_recv", [] { char byte; return compute(), recv(impatient[0], &byte, 1, 0); });
  sit("often_semop", [] { sembuf take = {0, -1, 0}; return compute(), semtimedop(semaphores, &take, 1, &short_time); });
  sit("often_sigwait", [] { return compute(), sigtimedwait(&no_one_sends, nullptr, &short_time); });
  while (seated < static_cast<int>(sitters.size())) std::this_thread::yield();
}

std::string truth() {
  std::string text = "{";
  for (auto* sitter : sitters) {
    text += "\"" + sitter->name + "\":" + std::to_string(sitter->interrupted) + ",";
  }
  text.back() = '}';
  return text;
}
}  // namespace

int main() {
  sit_everywhere();
  answer_until_end_of_input(truth);
}

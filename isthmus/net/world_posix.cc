#include "isthmus/net/world_posix.h"

#include <malloc.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "isthmus/net/asio_await_impl.h"
#include "isthmus/net/posix_files.h"
#include "isthmus/net/reactor_impl.h"

namespace isthmus::net {
namespace {

// A socket that is always ready (a large answer on a fast network) must not keep timers and
// coroutines from running; 64 pieces of 16 KB take about a millisecond.
constexpr int kHandlersPerTurn = 64;

// One wait for the kernel. A timer that says "never" lies beyond the end of asio's own clock, whose
// sum would overflow into the past: no wait at all, and a loop that spins.
constexpr Duration kWaitMax = std::chrono::hours(1);

// Long for a turn, whose lag is told at a tenth of it, and short beside the seconds that lie
// between the end of a lease by our clock and the moment at which somebody else may take it.
constexpr Duration kOversleep = std::chrono::seconds(1);

// What the library begins with: larger blocks are mapped by themselves.
constexpr int kLargeBlockBytes = 128 * 1024;

// Draws 256 bytes at a time, the most that getrandom(2) hands out in one piece whatever signals
// arrive, and a size at which the system call no longer counts.
class KernelRandom final : public Random {
 public:
  std::uint64_t next() override {
    if (used_ == numbers_.size()) refill();
    return std::exchange(numbers_[used_++], 0);
  }

 private:
  void refill() {
    ssize_t bytes = 0;
    do {
      bytes = getrandom(numbers_.data(), sizeof(numbers_), 0);
    } while (bytes < 0 && errno == EINTR);
    ISTHMUS_ASSERT(bytes == sizeof(numbers_), "the kernel has no entropy for us");
    used_ = 0;
  }

  std::array<std::uint64_t, 32> numbers_{};
  std::size_t used_ = numbers_.size();
};

}  // namespace

PosixWorld::Reactor::Reactor()
    : work(io.get_executor()),
      random(std::make_unique<KernelRandom>()),
      files(std::make_unique<PosixFiles>()),
      loop(*this) {}

PosixWorld::Reactor::~Reactor() = default;

// CLOCK_BOOTTIME goes on while the machine sleeps, where CLOCK_MONOTONIC stands still: a leader
// that was suspended must find that its lease is over.
Moment PosixWorld::Reactor::now() {
  timespec time{};
  const int result = clock_gettime(CLOCK_BOOTTIME, &time);
  ISTHMUS_ASSERT(result == 0, "the kernel has had CLOCK_BOOTTIME since 2.6.39");
  return Moment(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

WallTime PosixWorld::Reactor::wall_now() {
  return WallTime(std::chrono::system_clock::now().time_since_epoch());
}

bool PosixWorld::Reactor::has_overslept() { return due && now() > later(*due, kOversleep); }

bool PosixWorld::Reactor::wait(std::optional<Moment> until) {
  due = until;
  const Moment started = now();
  if (!until) {
    io.run_one();
  } else if (*until > started) {
    io.run_one_for(std::min(*until - started, kWaitMax));
  }
  for (int handlers = 0; handlers < kHandlersPerTurn; ++handlers) {
    if (io.poll_one() == 0) break;
  }
  return true;
}

PosixWorld::PosixWorld() {
  // Every write of ours reports EPIPE to whoever writes; a library that forgets MSG_NOSIGNAL must
  // not end the program because a peer has left.
  std::signal(SIGPIPE, SIG_IGN);
  // What is large is returned when it is freed. Left alone, the library raises the limit to the
  // largest block it has seen, and lists of thousands of objects leave holes that nothing fills.
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlockBytes);
  ::mallopt(M_TRIM_THRESHOLD, kLargeBlockBytes);
  reactor_ = std::make_unique<Reactor>();
}

PosixWorld::~PosixWorld() = default;

Loop& PosixWorld::loop() { return reactor_->loop; }
Random& PosixWorld::random() { return *reactor_->random; }
Files& PosixWorld::files() { return *reactor_->files; }
PosixWorld::Reactor& PosixWorld::reactor() { return *reactor_; }

Task<Result<int>> PosixWorld::next_signal() {
  auto& signals = reactor_->signals;
  if (!signals) {
    signals = std::make_shared<boost::asio::signal_set>(reactor_->io, SIGINT, SIGTERM, SIGHUP);
  }
  Result<int> number = co_await signals->async_wait(hold(signals));
  co_return number;
}

}  // namespace isthmus::net

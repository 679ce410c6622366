#include "isthmus/net/world_posix.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <chrono>
#include <csignal>
#include <set>

#include "isthmus/net/asio_await_impl.h"
#include "isthmus/net/reactor_impl.h"

namespace isthmus::net {
namespace {

using namespace std::chrono_literals;

template <class T>
T run(PosixWorld& world, Task<T> task) {
  const std::size_t frames = isthmus::detail::live_frames;
  std::optional<T> answer = run_to_end(world.loop(), std::move(task));
  EXPECT_LT(isthmus::detail::live_frames, frames) << "a coroutine frame is left";
  return std::move(*answer);
}

// Two ends of a stream, and the buffer an operation reads into.
struct Pair : std::enable_shared_from_this<Pair> {
  using Socket = boost::asio::local::stream_protocol::socket;
  explicit Pair(PosixWorld& world) : ours(world.reactor().io), theirs(world.reactor().io) {
    std::array<int, 2> ends{};
    ISTHMUS_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "no socket pair");
    ours.assign({}, ends[0]);
    theirs.assign({}, ends[1]);
  }
  Socket ours;
  Socket theirs;
  std::array<char, 16> buffer{};
};

Task<Result<std::size_t>> read_once(Pair& pair) {
  Result<std::size_t> bytes = co_await pair.ours.async_read_some(boost::asio::buffer(pair.buffer),
                                                                 hold(pair.shared_from_this()));
  co_return bytes;
}

Task<Result<>> read_and_forget(Pair& pair) {
  CO_TRY(co_await read_once(pair));
  co_return Result<>{};
}

Task<Result<>> write_once(Pair& pair, std::string text) {
  pair.theirs.send(boost::asio::buffer(text));
  co_return Result<>{};
}

Task<Result<>> wait(Duration duration) {
  CO_TRY(co_await Sleep(duration));
  co_return Result<>{};
}

TEST(posix_world, time_passes_while_it_waits) {
  PosixWorld world;
  const Moment begin = world.reactor().now();
  const Result<> slept = run(world, wait(5ms));
  EXPECT_TRUE(slept);
  EXPECT_GE(world.reactor().now() - begin, 5ms);
  EXPECT_GT(world.loop().wall_now().time_since_epoch(), 1'700'000'000s);
}

void raise_hangup(int) { ::raise(SIGHUP); }

Task<Result<>> hear_one_signal(PosixWorld& world) {
  const int signal = CO_TRY(co_await with_deadline(Moment::max(), world.next_signal()));
  EXPECT_EQ(signal, SIGHUP);
  co_return Result<>{};
}

// Only the signal ends the wait: the loop has no other timer than one that never comes.
TEST(posix_world, a_timer_that_never_comes_is_waited_for_and_not_spun_on) {
  PosixWorld world;
  EXPECT_EQ(run(world, with_timeout(1ms, world.next_signal())).outcome(), Outcome::deadline);
  std::signal(SIGALRM, raise_hangup);
  const itimerval in_20_ms{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &in_20_ms, nullptr), 0);

  Scope root(world.loop());
  root.spawn(hear_one_signal, std::ref(world));
  int looks = 0;
  world.loop().run_until([&] { return ++looks, root.children() == 0; });
  EXPECT_LT(looks, 20);
  std::signal(SIGALRM, SIG_DFL);
}

TEST(posix_world, random_numbers_of_the_kernel_differ) {
  PosixWorld world;
  std::set<std::uint64_t> numbers;
  for (int count = 0; count < 1000; ++count) numbers.insert(world.random().next());
  EXPECT_EQ(numbers.size(), 1000U);
}

TEST(posix_world, files_are_those_of_the_machine) {
  PosixWorld world;
  EXPECT_TRUE(world.files().read("/proc/self/cmdline", 1 << 20));
}

Task<Result<>> expect_signals(PosixWorld& world) {
  // Given an unconnected wait that fails fast, the handlers are in place before anything is raised.
  const Result<int> none = co_await with_timeout(1ms, world.next_signal());
  EXPECT_EQ(none.outcome(), Outcome::deadline);
  ::raise(SIGHUP);
  ::raise(SIGTERM);
  const int first = CO_TRY(co_await world.next_signal());
  const int second = CO_TRY(co_await world.next_signal());
  EXPECT_EQ((std::set<int>{first, second}), (std::set<int>{SIGHUP, SIGTERM}));
  co_return Result<>{};
}

TEST(posix_world, signals_are_answered_one_by_one_even_when_nobody_was_waiting) {
  PosixWorld world;
  EXPECT_TRUE(run(world, with_timeout(5s, expect_signals(world))));
}

TEST(asio_await, an_operation_answers_its_value) {
  PosixWorld world;
  const auto pair = std::make_shared<Pair>(world);
  pair->theirs.send(boost::asio::buffer("hello", 5));
  const auto bytes = run(world, read_once(*pair));
  EXPECT_EQ(bytes.value(), 5U);
  EXPECT_EQ(pair.use_count(), 1);
}

TEST(asio_await, an_operation_that_fails_is_lost) {
  PosixWorld world;
  const auto pair = std::make_shared<Pair>(world);
  pair->theirs.close();
  const auto bytes = run(world, read_once(*pair));
  ASSERT_EQ(bytes.outcome(), Outcome::lost);
  EXPECT_EQ(bytes.error().message, "End of file");
}

TEST(asio_await, a_deadline_ends_the_wait_and_nothing_is_read_afterwards) {
  PosixWorld world;
  const auto pair = std::make_shared<Pair>(world);
  const auto bytes = run(world, with_timeout(2ms, read_once(*pair)));
  EXPECT_EQ(bytes.outcome(), Outcome::deadline);
  EXPECT_EQ(pair.use_count(), 1) << "the reactor still holds the operation";
  pair->theirs.send(boost::asio::buffer("later", 5));
  EXPECT_EQ(run(world, read_once(*pair)).value(), 5U);
}

Task<Result<std::size_t>> read_in_a_cancelled_scope(Pair& pair) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.cancel();
  Result<std::size_t> bytes = co_await scope.run(read_once(pair));
  co_return bytes;
}

TEST(asio_await, in_a_cancelled_scope_nothing_is_started) {
  PosixWorld world;
  const auto pair = std::make_shared<Pair>(world);
  pair->theirs.send(boost::asio::buffer("there", 5));
  EXPECT_EQ(run(world, read_in_a_cancelled_scope(*pair)).outcome(), Outcome::cancelled);
  EXPECT_EQ(run(world, read_once(*pair)).value(), 5U);
}

TEST(asio_await, a_frame_destroyed_while_it_waits_leaves_the_rest_working) {
  PosixWorld world;
  auto pair = std::make_shared<Pair>(world);
  {
    Scope scope(world.loop());
    scope.spawn(read_and_forget, std::ref(*pair));
    int turns = 0;
    world.loop().run_until([&turns] { return ++turns > 1; });
  }
  const std::weak_ptr<Pair> remembered = pair;
  pair.reset();
  EXPECT_FALSE(remembered.expired()) << "the operation still uses it";
  world.loop().run_until([&remembered] { return remembered.expired(); });
}

TEST(asio_await, a_world_that_ends_under_an_operation_lets_go_of_what_it_uses) {
  std::weak_ptr<Pair> remembered;
  {
    PosixWorld world;
    const auto pair = std::make_shared<Pair>(world);
    remembered = pair;
    Scope scope(world.loop());
    scope.spawn(read_and_forget, std::ref(*pair));
    int turns = 0;
    world.loop().run_until([&turns] { return ++turns > 1; });
  }
  EXPECT_TRUE(remembered.expired());
}

Task<Result<std::size_t>> read_all_while_written(Pair& pair) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(write_once, std::ref(pair), std::string("12345678"));
  scope.spawn(write_once, std::ref(pair), std::string("12345678"));
  Result<std::size_t> bytes = co_await boost::asio::async_read(
      pair.ours, boost::asio::buffer(pair.buffer), hold(pair.shared_from_this()));
  CO_TRY(co_await scope.join());
  co_return bytes;
}

Task<Result<std::size_t>> read_all(Pair& pair) {
  Result<std::size_t> bytes = co_await boost::asio::async_read(
      pair.ours, boost::asio::buffer(pair.buffer), hold(pair.shared_from_this()));
  co_return bytes;
}

TEST(asio_await, composed_operations_work_and_can_be_cancelled) {
  PosixWorld world;
  const auto pair = std::make_shared<Pair>(world);
  EXPECT_EQ(run(world, read_all_while_written(*pair)).value(), 16U);
  pair->theirs.send(boost::asio::buffer("half", 4));
  EXPECT_EQ(run(world, with_timeout(2ms, read_all(*pair))).outcome(), Outcome::deadline);
  EXPECT_EQ(pair.use_count(), 1);
}

}  // namespace
}  // namespace isthmus::net

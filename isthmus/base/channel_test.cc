#include "isthmus/base/channel.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/random.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

using Numbers = Channel<int>;

Task<Result<>> send_range(Numbers& channel, int first, int last) {
  for (int i = first; i <= last; ++i) CO_TRY(co_await channel.send(i));
  co_return Result<>{};
}

Task<Result<>> receive_all(Numbers& channel, std::vector<int>& received) {
  for (;;) {
    const std::optional<int> number = CO_TRY(co_await channel.receive());
    if (!number) co_return Result<>{};
    received.push_back(*number);
  }
}

// Receives one value and writes it, or how the wait ended.
Task<Result<>> receive_one(Numbers& channel, std::string& log, char name) {
  Result<std::optional<int>> received = co_await channel.receive();
  log += name;
  if (!received) {
    log += '-';
  } else {
    log += *received ? std::to_string(**received) : "closed";
  }
  co_return Result<>{};
}

Task<Result<>> send_one(Numbers& channel, int value, std::string& log) {
  Result<> sent = co_await channel.send(value);
  log += std::to_string(value) + " " + std::string(to_string(sent.outcome())) + ";";
  co_return Result<>{};
}

TEST(channel, delivers_everything_in_order_and_then_says_closed) {
  VirtualWorld world;
  Numbers channel(2);
  std::vector<int> received;
  Scope scope(world.loop);
  scope.spawn(receive_all, std::ref(channel), std::ref(received));
  scope.spawn(send_range, std::ref(channel), 1, 5);
  world.settle();
  EXPECT_EQ(received, (std::vector{1, 2, 3, 4, 5}));
  EXPECT_EQ(scope.children(), 1U);
  channel.close();
  world.settle();
  EXPECT_EQ(scope.children(), 0U);
}

TEST(channel, a_sender_waits_while_the_channel_is_full) {
  VirtualWorld world;
  Numbers channel(2);
  Scope scope(world.loop);
  scope.spawn(send_range, std::ref(channel), 1, 5);
  world.settle();
  EXPECT_EQ(channel.size(), 2U);
  EXPECT_EQ(channel.try_receive(), 1);
  world.settle();
  EXPECT_EQ(channel.size(), 2U);
  std::vector<int> received;
  scope.spawn(receive_all, std::ref(channel), std::ref(received));
  world.settle();
  EXPECT_EQ(received, (std::vector{2, 3, 4, 5}));
  scope.cancel();
  world.settle();
}

TEST(channel, senders_and_receivers_are_served_in_the_order_they_came) {
  VirtualWorld world;
  Numbers channel(1);
  std::string log;
  Scope scope(world.loop);
  for (const char name : {'a', 'b', 'c'}) {
    scope.spawn(receive_one, std::ref(channel), std::ref(log), name);
  }
  world.settle();
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(channel.try_send(i));
  world.settle();
  EXPECT_EQ(log, "a1b2c3");

  log.clear();
  for (int i = 1; i <= 3; ++i) scope.spawn(send_one, std::ref(channel), i, std::ref(log));
  world.settle();
  EXPECT_EQ(channel.try_receive(), 1);
  EXPECT_EQ(channel.try_receive(), 2);
  EXPECT_EQ(channel.try_receive(), 3);
  EXPECT_EQ(channel.try_receive(), std::nullopt);
  world.settle();
  EXPECT_EQ(log, "1 ok;2 ok;3 ok;");
}

TEST(channel, trying_to_send_never_waits) {
  Numbers channel(1);
  EXPECT_TRUE(channel.try_send(1));
  EXPECT_FALSE(channel.try_send(2));
  channel.close();
  EXPECT_EQ(channel.try_receive(), 1);
  EXPECT_FALSE(channel.try_send(3));
}

TEST(channel, closing_fails_waiting_senders_and_leaves_receivers_the_rest) {
  VirtualWorld world;
  Numbers channel(1);
  std::string log;
  Scope scope(world.loop);
  scope.spawn(send_one, std::ref(channel), 1, std::ref(log));
  scope.spawn(send_one, std::ref(channel), 2, std::ref(log));
  world.settle();
  channel.close();
  scope.spawn(send_one, std::ref(channel), 3, std::ref(log));
  world.settle();
  EXPECT_EQ(log, "1 ok;2 cancelled;3 cancelled;");
  log.clear();
  scope.spawn(receive_one, std::ref(channel), std::ref(log), 'a');
  scope.spawn(receive_one, std::ref(channel), std::ref(log), 'b');
  world.settle();
  EXPECT_EQ(log, "a1bclosed");
}

TEST(channel, a_cancelled_wait_takes_nothing_and_sends_nothing) {
  VirtualWorld world;
  Numbers channel(1);
  std::string log;
  {
    Scope scope(world.loop);
    scope.spawn(receive_one, std::ref(channel), std::ref(log), 'a');
    world.settle();
    scope.cancel();
    ASSERT_TRUE(channel.try_send(1));
    scope.spawn(send_one, std::ref(channel), 2, std::ref(log));
    world.settle();
  }
  EXPECT_EQ(log, "a-2 cancelled;");
  EXPECT_EQ(channel.try_receive(), 1);
  EXPECT_EQ(channel.try_receive(), std::nullopt);
}

TEST(channel, a_value_given_to_a_receiver_that_is_destroyed_goes_to_the_next) {
  VirtualWorld world;
  Numbers channel(1);
  std::string log;
  Scope living(world.loop);
  {
    Scope doomed(world.loop);
    doomed.spawn(receive_one, std::ref(channel), std::ref(log), 'd');
    world.settle();
    living.spawn(receive_one, std::ref(channel), std::ref(log), 'a');
    world.settle();
    ASSERT_TRUE(channel.try_send(1));
  }
  world.settle();
  EXPECT_EQ(log, "a1");
}

TEST(channel, values_given_to_destroyed_receivers_come_back_in_order) {
  VirtualWorld world;
  Numbers channel(2);
  std::string log;
  {
    Scope doomed(world.loop);
    doomed.spawn(receive_one, std::ref(channel), std::ref(log), 'd');
    world.settle();
    for (int i = 1; i <= 3; ++i) ASSERT_TRUE(channel.try_send(i));
  }
  EXPECT_EQ(channel.size(), 3U) << "one more than its capacity, because it was under way";
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(channel.try_receive(), i);
  EXPECT_EQ(log, "");
}

Task<Result<>> receive_pointer(Channel<std::unique_ptr<int>>& channel, int& seen) {
  std::optional<std::unique_ptr<int>> pointer = CO_TRY(co_await channel.receive());
  seen = **pointer;
  co_return Result<>{};
}

TEST(channel, carries_what_can_only_be_moved) {
  VirtualWorld world;
  Channel<std::unique_ptr<int>> channel(1);
  int seen = 0;
  Scope scope(world.loop);
  EXPECT_TRUE(channel.try_send(std::make_unique<int>(9)));
  scope.spawn(receive_pointer, std::ref(channel), std::ref(seen));
  world.settle();
  EXPECT_EQ(seen, 9);
}

Task<Result<>> send_with_pauses(Numbers& channel, Random& random, int first, int last) {
  for (int i = first; i <= last; ++i) {
    CO_TRY(co_await sleep_for(random.between(0ns, 3ns)));
    CO_TRY(co_await channel.send(i));
  }
  co_return Result<>{};
}

Task<Result<>> receive_with_pauses(Numbers& channel, Random& random, std::vector<int>& received) {
  for (;;) {
    const std::optional<int> number = CO_TRY(co_await channel.receive());
    if (!number) co_return Result<>{};
    received.push_back(*number);
    CO_TRY(co_await sleep_for(random.between(0ns, 3ns)));
  }
}

// Receivers crash at random; every value must still arrive exactly once, unless its receiver
// crashed with it in hand.
TEST(channel, loses_and_doubles_nothing_while_receivers_come_and_go) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    VirtualWorld world;
    SeededRandom random(seed);
    Numbers channel(1 + random.below(4));
    std::vector<int> received;
    std::size_t accepted = 0;
    Scope senders(world.loop);
    for (int i = 0; i < 3; ++i) {
      senders.spawn(send_with_pauses, std::ref(channel), std::ref(random), i * 100, i * 100 + 19);
    }
    for (int crash = 0; crash < 10; ++crash) {
      Scope receivers(world.loop);
      for (int i = 0; i < 3; ++i) {
        receivers.spawn(receive_with_pauses, std::ref(channel), std::ref(random),
                        std::ref(received));
      }
      world.advance(random.between(0ns, 5ns));
      // Given to a receiver that waits, and that will not live to see it.
      if (random.below(2) == 0 && channel.try_send(1000 + crash)) ++accepted;
    }
    Scope last(world.loop);
    last.spawn(receive_all, std::ref(channel), std::ref(received));
    world.advance(1s);
    ASSERT_EQ(senders.children(), 0U);
    channel.close();
    world.settle();
    std::ranges::sort(received);
    EXPECT_EQ(std::ranges::adjacent_find(received), received.end());
    EXPECT_EQ(received.size(), 60 + accepted);
  }
}

TEST(channel_death, without_room_for_a_value_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Numbers channel(0), "holds at least one value");
}

}  // namespace
}  // namespace isthmus

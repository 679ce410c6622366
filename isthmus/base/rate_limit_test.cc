#include "isthmus/base/rate_limit.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/random.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

struct Taken {
  std::string order;
  std::vector<Duration> at;
};

Task<Result<>> take_one(TokenBucket& bucket, Loop& loop, Taken& taken, char name) {
  Result<> token = co_await bucket.take();
  taken.order += token ? name : '-';
  taken.at.push_back(loop.now() - Moment{});
  co_return Result<>{};
}

TEST(token_bucket, gives_a_burst_at_once_and_then_keeps_the_rate) {
  VirtualWorld world;
  TokenBucket bucket(world.loop, 10, 3);
  Taken taken;
  Scope scope(world.loop);
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
    scope.spawn(take_one, std::ref(bucket), std::ref(world.loop), std::ref(taken), name);
  }
  world.advance(1s);
  EXPECT_EQ(taken.order, "abcde");
  EXPECT_EQ(taken.at, (std::vector<Duration>{0s, 0s, 0s, 100ms, 200ms}));
}

TEST(token_bucket, is_full_again_after_a_pause_but_never_fuller) {
  VirtualWorld world;
  TokenBucket bucket(world.loop, 10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.try_take());
  EXPECT_FALSE(bucket.try_take());
  world.advance(99ms);
  EXPECT_FALSE(bucket.try_take());
  world.advance(1ms);
  EXPECT_TRUE(bucket.try_take());
  EXPECT_FALSE(bucket.try_take());
  world.advance(1h);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.try_take());
  EXPECT_FALSE(bucket.try_take());
}

TEST(token_bucket, nobody_overtakes_those_who_wait) {
  VirtualWorld world;
  TokenBucket bucket(world.loop, 1, 1);
  EXPECT_TRUE(bucket.try_take());
  Taken taken;
  Scope scope(world.loop);
  scope.spawn(take_one, std::ref(bucket), std::ref(world.loop), std::ref(taken), 'a');
  world.advance(1s - 1ns);
  EXPECT_EQ(bucket.waiting(), 1U);
  EXPECT_EQ(bucket.next_at(), Moment(2s));
  EXPECT_FALSE(bucket.try_take());
  world.advance(1ns);
  EXPECT_EQ(taken.order, "a");
  EXPECT_FALSE(bucket.try_take());
  EXPECT_EQ(bucket.next_at(), Moment(2s));
}

TEST(token_bucket, a_cancelled_waiter_uses_no_token_and_moves_the_others_up) {
  VirtualWorld world;
  TokenBucket bucket(world.loop, 1, 1);
  EXPECT_TRUE(bucket.try_take());
  Taken taken;
  Scope impatient(world.loop), patient(world.loop);
  impatient.spawn(take_one, std::ref(bucket), std::ref(world.loop), std::ref(taken), 'a');
  world.settle();
  patient.spawn(take_one, std::ref(bucket), std::ref(world.loop), std::ref(taken), 'b');
  impatient.set_deadline(Moment(500ms));
  world.advance(1s);
  EXPECT_EQ(taken.order, "-b");
  EXPECT_EQ(taken.at, (std::vector<Duration>{500ms, 1s}));
  EXPECT_EQ(bucket.waiting(), 0U);
}

Task<Result<>> crash_at(std::unique_ptr<Scope>& scope, Moment at) {
  CO_TRY(co_await sleep_until(at));
  scope.reset();
  co_return Result<>{};
}

TEST(token_bucket, a_waiter_destroyed_with_its_token_gives_it_back) {
  VirtualWorld world;
  TokenBucket bucket(world.loop, 1, 1);
  EXPECT_TRUE(bucket.try_take());
  Taken taken;
  auto doomed = std::make_unique<Scope>(world.loop);
  Scope living(world.loop);
  // Armed before the bucket's timer, so it runs between the token's coming and its owner's turn.
  living.spawn(crash_at, std::ref(doomed), Moment(1s));
  doomed->spawn(take_one, std::ref(bucket), std::ref(world.loop), std::ref(taken), 'd');
  world.settle();
  living.spawn(take_one, std::ref(bucket), std::ref(world.loop), std::ref(taken), 'a');
  world.advance(1s);
  EXPECT_EQ(taken.order, "a");
  EXPECT_EQ(world.elapsed(), 1s);
}

TEST(token_bucket, never_exceeds_its_rate_whatever_the_pattern) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    VirtualWorld world;
    SeededRandom random(seed);
    const unsigned burst = 1 + static_cast<unsigned>(random.below(5));
    TokenBucket bucket(world.loop, 100, burst);
    std::vector<Moment> taken;
    for (int i = 0; i < 500; ++i) {
      world.advance(random.between(0ms, 12ms));
      if (bucket.try_take()) taken.push_back(world.loop.now());
    }
    // Between any two tokens lies the time in which those beyond the burst came back.
    for (std::size_t i = 0; i + burst < taken.size(); ++i) {
      EXPECT_GE(taken[i + burst] - taken[i], 10ms);
    }
  }
}

}  // namespace
}  // namespace isthmus

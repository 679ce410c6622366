#include "isthmus/base/backoff.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

struct Range {
  Duration least = Duration::max();
  Duration most = Duration::min();
};

Range sample(const BackoffPolicy& policy, unsigned failures) {
  SeededRandom random(1);
  Range range;
  for (int i = 0; i < 2000; ++i) {
    const Duration delay = backoff_delay(policy, failures, random);
    range.least = std::min(range.least, delay);
    range.most = std::max(range.most, delay);
  }
  return range;
}

TEST(backoff, doubles_up_to_its_cap_and_spreads_over_all_of_it) {
  const BackoffPolicy policy{.start = 1s, .cap = 10s, .jitter = Jitter::full};
  const std::vector<Duration> ceilings = {1s, 2s, 4s, 8s, 10s, 10s};
  for (unsigned failures = 0; failures < ceilings.size(); ++failures) {
    const auto [least, most] = sample(policy, failures);
    EXPECT_LE(most, ceilings[failures]);
    EXPECT_GE(most, ceilings[failures] * 99 / 100);
    EXPECT_GE(least, 0s);
    EXPECT_LE(least, ceilings[failures] / 100);
  }
}

TEST(backoff, half_jitter_keeps_half_of_the_delay) {
  const auto [least, most] = sample({.start = 4s, .cap = 1min, .jitter = Jitter::half}, 1);
  EXPECT_GE(least, 4s);
  EXPECT_LE(most, 8s);
}

TEST(backoff, added_jitter_comes_on_top_of_the_delay) {
  const auto [least, most] = sample({.start = 800ms, .cap = 30s, .jitter = Jitter::added}, 10);
  EXPECT_GE(least, 30s);
  EXPECT_LE(most, 60s);
}

TEST(backoff, many_failures_do_not_overflow) {
  SeededRandom random(1);
  const BackoffPolicy policy{.start = 1ns, .cap = 100h, .jitter = Jitter::half};
  EXPECT_GE(backoff_delay(policy, 4'000'000'000U, random), 50h);
}

TEST(backoff, starts_again_after_success_or_quiet) {
  VirtualWorld world;
  SeededRandom random(1);
  Backoff backoff(world.loop, random, {.start = 1s, .cap = 1h, .jitter = Jitter::half}, 2min);
  for (int i = 0; i < 5; ++i) backoff.next();
  EXPECT_GE(backoff.next(), 16s);
  backoff.reset();
  EXPECT_LE(backoff.next(), 1s);

  for (int i = 0; i < 5; ++i) backoff.next();
  world.advance(2min);
  EXPECT_GE(backoff.next(), 16s) << "exactly as long is not longer";
  world.advance(2min + 1ns);
  EXPECT_LE(backoff.next(), 1s);
  EXPECT_EQ(backoff.failures(), 1U);
}

}  // namespace
}  // namespace isthmus

// Many checks, limits, and chance: what cannot be seen with a handful of targets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "isthmus/infra/health_checker_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;
using api::Health;

std::vector<Check> checks_of(std::uint32_t count, const api::HealthCheck& how = {}) {
  std::vector<Check> checks;
  for (std::uint32_t number = 1; number <= count; ++number) checks.push_back(check(number, how));
  return checks;
}

// How many were asked in each tenth of a second.
std::map<std::int64_t, int> by_tenths(const FakeProber& prober) {
  std::map<std::int64_t, int> counts;
  for (const FakeProber::Call& call : prober.calls) ++counts[call.at / 100ms];
  return counts;
}

TEST(health_checker_load, ten_thousand_targets_are_spread_over_their_interval) {
  CheckedWorld world;
  world.checker.want("prod/web", checks_of(10'000));
  world.advance(10s - 1ns);
  EXPECT_EQ(world.prober.calls.size(), 20'000U);
  for (const auto& [tenth, count] : by_tenths(world.prober)) {
    EXPECT_LT(count, 800) << tenth << ": 200 would be even";
  }
}

TEST(health_checker_load, users_that_come_one_by_one_are_spread_as_well) {
  CheckedWorld world;
  for (std::uint32_t user = 0; user < 100; ++user) {
    std::vector<Check> checks;
    for (std::uint32_t i = 1; i <= 100; ++i) checks.push_back(check(user * 100 + i));
    world.checker.want("prod/web-" + std::to_string(user), checks);
  }
  world.advance(5s - 1ns);
  EXPECT_EQ(world.prober.calls.size(), 10'000U);
  for (const auto& [tenth, count] : by_tenths(world.prober)) EXPECT_LT(count, 800) << tenth;
}

TEST(health_checker_load, a_single_target_beside_many_old_ones_is_asked_at_once) {
  CheckedWorld world;
  world.checker.want("prod/many", checks_of(10'000));
  world.advance(6s);
  world.checker.want("prod/one", {check(20'000)});
  world.settle();
  EXPECT_EQ(world.prober.asked(20'000), std::vector<Duration>{6s});
}

TEST(health_checker_load, ten_thousand_targets_do_not_drift) {
  CheckedWorld world;
  world.checker.want("prod/web", checks_of(10'000));
  world.advance(3min - 1ns);
  EXPECT_EQ(world.prober.calls.size(), 360'000U);
  std::map<std::uint32_t, Duration> first;
  for (const FakeProber::Call& call : world.prober.calls) {
    const auto [place, is_new] =
        first.try_emplace(number_of(call.request.endpoint.address), call.at);
    // The limit of how many may begin at once shifts single ones, and only for the moment.
    ASSERT_LT((call.at - place->second + 100ms) % 5s, 200ms);
  }
}

TEST(health_checker_load, no_more_are_under_way_than_the_limit_says) {
  CheckedWorld world({.under_way_max = 64, .per_second_max = 8000});
  for (std::uint32_t number = 1; number <= 1000; ++number) {
    world.prober.answers[number] = {.after = 1s, .result = {}};
  }
  world.checker.want("prod/web", checks_of(1000));
  world.advance(1min);
  EXPECT_LE(world.prober.under_way_most, 64U);
}

TEST(health_checker_load, where_the_limit_is_hit_the_schedule_slips_visibly_and_nobody_fails) {
  CheckedWorld world({.under_way_max = 64, .per_second_max = 8000});
  for (std::uint32_t number = 1; number <= 1000; ++number) {
    world.prober.answers[number] = {.after = 1s, .result = {}};
  }
  world.checker.want("prod/web", checks_of(1000));
  world.advance(4min);
  std::set<std::size_t> turns;
  for (std::uint32_t number = 1; number <= 1000; ++number) {
    ASSERT_EQ(world.health(number), Health::healthy) << number;
    turns.insert(world.prober.asked(number).size());
  }
  EXPECT_GT(*turns.begin(), 5U) << "32 a second, one after the other";
  EXPECT_LE(*turns.rbegin() - *turns.begin(), 3U) << "nobody is forgotten";
  EXPECT_NE(world.metric("infra_health_checks_waiting"), "0");
  EXPECT_NE(world.metric(R"(infra_health_check_lateness_seconds_bucket{le="4.096"})"),
            world.metric("infra_health_check_lateness_seconds_count"));
}

TEST(health_checker_load, any_number_of_dead_targets_leaves_the_others_on_time) {
  CheckedWorld world({.under_way_max = 64, .per_second_max = 8000});
  for (std::uint32_t number = 11; number <= 2000; ++number) {
    world.prober.answers[number] = {.after = 1h, .result = {}};
  }
  world.checker.want("prod/web", checks_of(2000));
  world.advance(5min);  // 32 every 2 s: all have been found to be silent.
  const std::size_t before = world.prober.asked(1).size();
  const std::size_t silent_before = world.prober.asked(2000).size();
  world.advance(10min);
  for (std::uint32_t number = 1; number <= 10; ++number) {
    EXPECT_EQ(world.health(number), Health::healthy);
  }
  EXPECT_GE(world.prober.asked(1).size(), before + 120);
  EXPECT_GE(world.prober.asked(2000).size(), silent_before + 4) << "dead ones are asked in turn";
}

TEST(health_checker_load, no_more_begin_in_a_second_than_the_limit_says) {
  CheckedWorld world({.under_way_max = 256, .per_second_max = 100});
  world.checker.want("prod/web", checks_of(5000));
  world.advance(10s);
  EXPECT_LE(world.prober.calls.size(), 1002U);
  EXPECT_GE(world.prober.calls.size(), 990U);
}

TEST(health_checker_load, one_seed_is_one_history) {
  std::vector<std::vector<Duration>> histories;
  for (int run = 0; run < 2; ++run) {
    CheckedWorld world;
    world.checker.want("prod/web", checks_of(500));
    world.advance(20s);
    std::vector<Duration>& history = histories.emplace_back();
    for (const FakeProber::Call& call : world.prober.calls) history.push_back(call.at);
  }
  EXPECT_EQ(histories[0], histories[1]);
}

// Users come, go and change their minds while probes of every length are under way.
void be_fickle(std::uint64_t seed) {
  SCOPED_TRACE(seed);
  SeededRandom chance(seed);
  CheckedWorld world({.under_way_max = 8, .per_second_max = 500});
  std::map<std::string, std::vector<Check>> wishes;
  for (int step = 0; step < 300; ++step) {
    const auto number = static_cast<std::uint32_t>(1 + chance.below(30));
    world.prober.answers[number] = {.after = chance.between(0s, 4s), .result = {}};
    if (chance.below(3) == 0) world.prober.answers[number].result = refused();
    const std::string user = "prod/" + std::to_string(chance.below(5));
    std::vector<Check>& wish = wishes[user];
    wish.clear();
    for (std::uint64_t i = chance.below(20); i > 0; --i) {
      const api::HealthCheck how = {.interval = std::chrono::seconds(1 + chance.below(3))};
      wish.push_back(check(static_cast<std::uint32_t>(1 + chance.below(30)), how));
    }
    world.checker.want(user, wish);
    if (chance.below(4) == 0) world.checker.take_changed();
    if (chance.below(20) == 0) {
      world.stop();
      world.start();
    }
    world.advance(chance.between(0s, 2s));
    std::set<Check> all;
    for (const auto& [name, checks] : wishes) all.insert(checks.begin(), checks.end());
    ASSERT_EQ(world.metric(R"(infra_health_checks{kind="http"})"), std::to_string(all.size()));
    ASSERT_LE(world.prober.under_way, 8U);
  }
  for (const auto& [user, wish] : wishes) world.checker.want(user, {});
  world.settle();
  EXPECT_EQ(world.prober.under_way, 0U);
  EXPECT_EQ(world.metric("infra_health_checks_unhealthy"), "0");
  EXPECT_EQ(world.metric("infra_health_checks_waiting"), "0");
  world.prober.calls.clear();
  world.advance(1h);
  EXPECT_TRUE(world.prober.calls.empty());
}

TEST(health_checker_load, fickle_users_leave_nothing_behind) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) be_fickle(seed);
}

}  // namespace
}  // namespace isthmus::infra

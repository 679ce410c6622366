#include "isthmus/cloud/guard.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/cloud/guarded_provider.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::cloud {
namespace {

using providers::fake::FakeProvider;
using std::chrono::seconds;

struct guard : testing::Test {
  guard() {
    cloud.add("m1", "node1");
    limits = {.calls_per_second = 10, .burst = 1000, .calls_at_once = 4};
  }
  Instances& instances() {
    if (!guarded) guarded.emplace(cloud, limits, world.loop, metrics, log);
    return *guarded->capabilities().instances;
  }
  Outcome get() { return world.run(instances().get({"fake", "m1"})).outcome(); }

  // Many calls at once; their answers in the order they came.
  static Task<Result<>> ask(guard* self, Duration after) {
    if (after > Duration::zero()) CO_TRY(co_await sleep_for(after));
    const Result<Instance> answer = co_await self->instances().get({"fake", "m1"});
    self->outcomes.push_back(answer.outcome());
    co_return {};
  }
  static Task<Result<>> ask_all(guard* self, int count) {
    Scope& here = co_await current_scope();
    Scope scope(here);
    for (int i = 0; i < count; ++i) scope.spawn(&guard::ask, self, Duration{});
    co_return co_await scope.join();
  }

  VirtualWorld world;
  Metrics metrics;
  MemoryLogger log;
  FakeProvider cloud;
  GuardLimits limits;
  std::optional<GuardedProvider> guarded;
  std::vector<Outcome> outcomes;
};

TEST_F(guard, passes_on_what_the_cloud_answers) {
  const Result<Instance> found = world.run(instances().get({"fake", "m1"}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->names.front(), "node1");
  EXPECT_EQ(world.run(instances().get({"fake", "m2"})).outcome(), Outcome::absent);
}

TEST_F(guard, gives_up_on_a_silent_cloud_at_the_deadline) {
  cloud.faults.silent = true;
  EXPECT_EQ(get(), Outcome::deadline);
  EXPECT_EQ(world.elapsed(), seconds(10));
  EXPECT_EQ(cloud.in_flight, 0U);
}

TEST_F(guard, lets_no_more_than_so_many_calls_be_under_way) {
  cloud.faults.delay = seconds(1);
  ASSERT_TRUE(world.run(ask_all(this, 20)));
  EXPECT_EQ(cloud.most_in_flight, 4U);
  EXPECT_EQ(std::ranges::count(outcomes, Outcome::ok), 20);
  EXPECT_EQ(world.elapsed(), seconds(5));
}

TEST_F(guard, answers_busy_to_those_who_would_wait_too_long_at_the_gate) {
  cloud.faults.delay = seconds(6);
  ASSERT_TRUE(world.run(ask_all(this, 12)));
  // Four answers after 6 s, four calls cut at 10 s, and four that were never sent.
  EXPECT_EQ(std::ranges::count(outcomes, Outcome::ok), 4);
  EXPECT_EQ(std::ranges::count(outcomes, Outcome::deadline), 4);
  EXPECT_EQ(std::ranges::count(outcomes, Outcome::busy), 4);
  EXPECT_EQ(cloud.gets, 8U);
}

TEST_F(guard, spreads_calls_over_time) {
  limits.burst = 1;
  ASSERT_TRUE(world.run(ask_all(this, 21)));
  EXPECT_EQ(std::ranges::count(outcomes, Outcome::ok), 21);
  EXPECT_EQ(world.elapsed(), seconds(2));
}

TEST_F(guard, shuts_the_door_for_all_when_one_call_is_rate_limited) {
  cloud.faults.calls_until_limit = 0;
  EXPECT_EQ(get(), Outcome::busy);
  cloud.faults.calls_until_limit.reset();
  EXPECT_EQ(get(), Outcome::busy);
  EXPECT_EQ(cloud.gets, 1U);
  EXPECT_TRUE(log.mentions("no calls to the cloud for a while"));
  ASSERT_TRUE(world.run(ask(this, seconds(30))));
  EXPECT_EQ(outcomes, std::vector{Outcome::ok});
  EXPECT_TRUE(log.mentions("the cloud answers again"));
}

TEST_F(guard, keeps_nobody_waiting_for_one_thing_that_is_being_released) {
  ASSERT_EQ(get(), Outcome::ok);
  LoadBalancers& balancers = *guarded->capabilities().load_balancers;
  cloud.load_balancers.release_takes = seconds(20);
  LoadBalancerSpec spec{.name = "lb", .listeners = {{"http", Protocol::tcp, 80, 30080}}};
  ASSERT_TRUE(world.run(balancers.ensure(spec)));
  EXPECT_EQ(world.run(balancers.release("lb")).outcome(), Outcome::busy);
  EXPECT_EQ(guarded->guard().breaker_state(), Breaker::State::closed);
  EXPECT_EQ(get(), Outcome::ok);
}

TEST_F(guard, leaves_a_cloud_alone_that_loses_every_answer) {
  cloud.faults.error = Error{Outcome::lost, "cut"};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(), Outcome::lost);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(), Outcome::busy);
  EXPECT_EQ(cloud.gets, 5U);
  EXPECT_EQ(guarded->guard().breaker_state(), Breaker::State::open);
}

TEST_F(guard, gives_back_the_permit_of_a_caller_that_is_cancelled) {
  cloud.faults.silent = true;
  for (int i = 0; i < 10; ++i) {
    Scope scope(world.loop);
    scope.set_deadline(world.loop.now() + std::chrono::milliseconds(10));
    scope.spawn(&guard::ask, this, Duration{});
    struct Joiner {
      static Task<Result<>> join(Scope* joined) { co_return co_await joined->join(); }
    };
    ASSERT_TRUE(world.run(Joiner::join(&scope)));
  }
  EXPECT_EQ(cloud.in_flight, 0U);
  cloud.faults.silent = false;
  ASSERT_TRUE(world.run(ask(this, seconds(60))));
  EXPECT_EQ(outcomes.back(), Outcome::ok);
}

TEST_F(guard, counts_calls_by_operation_and_outcome) {
  get();
  cloud.faults.error = Error{Outcome::denied, "who are you"};
  get();
  const std::string text = metrics.text();
  for (const std::string_view line :
       {R"(outcome="ok")", R"(outcome="denied")", R"(operation="instance_get")",
        "isthmus_cloud_call_duration_seconds_count", "isthmus_cloud_breaker_state"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace isthmus::cloud

// Time limits: sleep, with_deadline, with_timeout, and what a cancelled scope does to them.
#include <chrono>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

Task<Result<std::string>> answer_after(Duration duration) {
  CO_TRY(co_await sleep_for(duration));
  co_return std::string("answer");
}

Task<Result<std::string>> answer_anyway_after(Duration duration) {
  Result<> slept = co_await sleep_for(duration);
  co_return std::string(to_string(slept.outcome()));
}

TEST(deadline, a_task_in_time_is_passed_through) {
  VirtualWorld world;
  EXPECT_EQ(world.run(with_timeout(10s, answer_after(1s))), "answer");
  EXPECT_EQ(world.elapsed(), 1s);
  EXPECT_FALSE(world.loop.run_until([] { return false; })) << "the deadline's timer is left";
}

TEST(deadline, a_task_that_takes_too_long_ends_with_deadline) {
  VirtualWorld world;
  EXPECT_EQ(world.run(with_timeout(10s, answer_after(11s))).outcome(), Outcome::deadline);
  EXPECT_EQ(world.elapsed(), 10s);
}

TEST(deadline, a_task_that_succeeds_all_the_same_succeeds) {
  VirtualWorld world;
  EXPECT_EQ(world.run(with_timeout(10s, answer_anyway_after(1h))), "deadline");
}

TEST(deadline, a_timeout_without_end_is_none) {
  VirtualWorld world;
  EXPECT_TRUE(world.run(answer_after(1h)));
  EXPECT_EQ(world.run(with_timeout(Duration::max(), answer_after(1h))), "answer");
}

TEST(deadline, the_inner_one_cannot_outlast_the_outer_one) {
  VirtualWorld world;
  EXPECT_EQ(world.run(with_timeout(1s, with_timeout(10s, answer_after(1h)))).outcome(),
            Outcome::deadline);
  EXPECT_EQ(world.elapsed(), 1s);
}

Task<Result<std::string>> retry_within_a_timeout() {
  Result<std::string> first = co_await with_timeout(1s, answer_after(1h));
  EXPECT_EQ(first.outcome(), Outcome::deadline);
  Result<std::string> second = co_await with_timeout(1s, answer_after(1ms));
  co_return second;
}

TEST(deadline, running_out_inside_leaves_the_caller_able_to_go_on) {
  VirtualWorld world;
  EXPECT_EQ(world.run(retry_within_a_timeout()), "answer");
  EXPECT_EQ(world.elapsed(), 1s + 1ms);
}

TEST(deadline, one_that_has_passed_already_ends_the_task_at_its_first_wait) {
  VirtualWorld world;
  EXPECT_TRUE(world.run(answer_after(1h)));
  EXPECT_EQ(world.run(with_deadline(Moment(1s), answer_after(1s))).outcome(), Outcome::deadline);
  EXPECT_EQ(world.elapsed(), 1h);
}

Task<Result<>> sleep_to(Moment until) { co_return co_await sleep_until(until); }

TEST(sleep, ends_exactly_at_its_moment) {
  VirtualWorld world;
  EXPECT_TRUE(world.run(sleep_to(Moment(90s))));
  EXPECT_EQ(world.elapsed(), 90s);
  EXPECT_TRUE(world.run(sleep_to(Moment(10s)))) << "a moment in the past is over at once";
  EXPECT_EQ(world.elapsed(), 90s);
}

Task<Result<>> take_turns(std::string& text, char name) {
  for (int i = 0; i < 3; ++i) {
    text += name;
    CO_TRY(co_await yield());
  }
  co_return Result<>{};
}

TEST(sleep, yielding_lets_the_others_run_first) {
  VirtualWorld world;
  std::string text;
  Scope scope(world.loop);
  for (const char name : {'a', 'b', 'c'}) scope.spawn(take_turns, std::ref(text), name);
  world.loop.run_until([&scope] { return scope.children() == 0; });
  EXPECT_EQ(text, "abcabcabc");
  EXPECT_EQ(world.elapsed(), 0s);
}

Task<Result<>> yield_once() { co_return co_await yield(); }

Task<Result<>> sleep_for_ever() { co_return co_await sleep_for(std::chrono::hours(24 * 365)); }

TEST(deadline, a_crash_destroys_what_waits_under_a_deadline) {
  VirtualWorld world;
  const std::size_t frames_before = detail::live_frames;
  {
    Scope scope(world.loop);
    scope.spawn([]() -> Task<Result<>> {
      Result<> slept = co_await with_timeout(1h, sleep_for_ever());
      co_return slept;
    });
    EXPECT_TRUE(world.run(yield_once()));
  }
  EXPECT_EQ(detail::live_frames, frames_before);
}

TEST(sleep, a_year_takes_no_time_in_a_virtual_world) {
  VirtualWorld world;
  EXPECT_TRUE(world.run(sleep_for_ever()));
  EXPECT_EQ(world.elapsed(), std::chrono::hours(24 * 365));
}

// The wake-up of a sleep and the end of its scope fall on the same moment.
TEST(sleep, when_the_deadline_was_armed_first_it_wins_a_tie) {
  VirtualWorld world;
  EXPECT_EQ(world.run(with_timeout(1s, answer_after(1s))).outcome(), Outcome::deadline);
}

}  // namespace
}  // namespace isthmus

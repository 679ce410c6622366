#include "isthmus/cloud/breaker.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using std::chrono::seconds;

struct breaker : testing::Test {
  // One call that ends at once; false when it was not let through.
  bool call(Outcome outcome, Duration retry_after = {}) {
    const auto ticket = door.admit(now);
    if (!ticket) return false;
    report(*ticket, outcome, retry_after);
    return true;
  }
  void report(Breaker::Ticket ticket, Outcome outcome, Duration retry_after = {}) {
    const Error error{outcome, "", retry_after};
    door.report(ticket, outcome == Outcome::ok ? nullptr : &error, now);
  }
  void lose(int times) {
    for (int i = 0; i < times; ++i) EXPECT_TRUE(call(Outcome::lost));
  }

  Breaker door{BreakerLimits{}};
  Moment now{seconds(1000)};
};

TEST_F(breaker, shuts_for_everyone_until_the_time_a_rate_limit_names) {
  EXPECT_TRUE(call(Outcome::busy, seconds(30)));
  now += seconds(29);
  const auto refused = door.refusal(now);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->outcome, Outcome::busy);
  EXPECT_EQ(refused->retry_after, seconds(1));
  now += seconds(1);
  EXPECT_EQ(door.state(now), Breaker::State::half_open);
  EXPECT_TRUE(call(Outcome::ok));
  EXPECT_EQ(door.state(now), Breaker::State::closed);
}

TEST_F(breaker, lets_exactly_one_probe_through) {
  call(Outcome::busy, seconds(30));
  now += seconds(30);
  const auto probe = door.admit(now);
  ASSERT_TRUE(probe);
  EXPECT_EQ(door.admit(now).outcome(), Outcome::busy);
  report(*probe, Outcome::ok);
  EXPECT_TRUE(door.admit(now));
}

TEST_F(breaker, opens_after_five_lost_answers_in_a_row) {
  lose(4);
  EXPECT_TRUE(call(Outcome::absent));
  lose(4);
  EXPECT_EQ(door.state(now), Breaker::State::closed);
  lose(1);
  EXPECT_EQ(door.state(now), Breaker::State::open);
}

TEST_F(breaker, counts_our_own_deadline_as_a_lost_answer) {
  for (int i = 0; i < 5; ++i) call(Outcome::deadline);
  EXPECT_EQ(door.state(now), Breaker::State::open);
}

TEST_F(breaker, stays_open_twice_as_long_after_each_lost_probe_up_to_two_minutes) {
  lose(5);
  Duration open_for = seconds(5);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(door.state(now + open_for - seconds(1)), Breaker::State::open) << i;
    now += open_for;
    EXPECT_EQ(door.state(now), Breaker::State::half_open) << i;
    EXPECT_TRUE(call(Outcome::lost));
    open_for = std::min<Duration>(2 * open_for, seconds(120));
  }
}

TEST_F(breaker, takes_any_answer_for_a_sign_of_life) {
  for (const Outcome answer : {Outcome::absent, Outcome::denied, Outcome::invalid,
                               Outcome::conflict, Outcome::unsupported}) {
    lose(5);
    now += seconds(5);
    EXPECT_TRUE(call(answer)) << to_string(answer);
    EXPECT_EQ(door.state(now), Breaker::State::closed) << to_string(answer);
  }
}

TEST_F(breaker, lets_the_next_caller_probe_when_the_probe_was_cancelled) {
  lose(5);
  now += seconds(5);
  EXPECT_TRUE(call(Outcome::cancelled));
  EXPECT_EQ(door.state(now), Breaker::State::half_open);
  EXPECT_TRUE(call(Outcome::ok));
}

TEST_F(breaker, does_not_close_for_an_answer_to_an_earlier_call) {
  const auto early = door.admit(now);
  call(Outcome::busy, seconds(30));
  report(*early, Outcome::ok);
  EXPECT_EQ(door.state(now), Breaker::State::open);
}

TEST_F(breaker, stays_open_for_the_longest_time_that_any_call_was_told) {
  const auto one = door.admit(now);
  const auto other = door.admit(now);
  report(*one, Outcome::busy, seconds(60));
  report(*other, Outcome::busy, seconds(10));
  EXPECT_EQ(door.state(now + seconds(59)), Breaker::State::open);
}

}  // namespace
}  // namespace isthmus::cloud

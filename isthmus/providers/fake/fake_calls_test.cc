#include "isthmus/providers/fake/fake_calls.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::providers::fake {
namespace {

TEST(fake_calls, say_nothing_when_told_until_the_caller_gives_up) {
  VirtualWorld world;
  FakeCalls calls;
  calls.faults.silent = true;
  const auto answer = world.run(with_timeout(std::chrono::seconds(10), calls.suffer()));
  EXPECT_EQ(answer.outcome(), Outcome::deadline);
  EXPECT_EQ(calls.in_flight, 0U);
  EXPECT_EQ(calls.most_in_flight, 1U);
}

TEST(fake_calls, lose_as_many_answers_as_they_are_told) {
  FakeCalls calls;
  calls.faults.answers_lost = 1;
  EXPECT_EQ(calls.deliver().outcome(), Outcome::lost);
  EXPECT_TRUE(calls.deliver());
}

}  // namespace
}  // namespace isthmus::providers::fake

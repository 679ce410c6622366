#include "isthmus/app/loop_lag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"

namespace isthmus::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class LoopLagTest : public testing::Test {
 protected:
  // Time passes while the loop does not turn.
  void stall(Duration time) { world.driver.wait(world.loop.now() + time); }

  VirtualWorld world;
  Metrics metrics;
  LoopLag lag{world.loop, metrics};
  Scope scope{world.loop};
};

TEST_F(LoopLagTest, a_loop_that_turns_in_time_is_well) {
  scope.spawn(&LoopLag::run, &lag);
  world.advance(seconds(60));

  EXPECT_TRUE(lag.check());
  EXPECT_THAT(metrics.text(), HasSubstr("isthmus_loop_lag_seconds_bucket{le=\"0.001\"} "));
  EXPECT_THAT(metrics.text(), HasSubstr("isthmus_loop_lag_seconds_sum 0\n"));
}

TEST_F(LoopLagTest, a_process_that_was_stopped_once_is_well) {
  scope.spawn(&LoopLag::run, &lag);
  world.advance(milliseconds(500));
  stall(seconds(60));
  world.advance(milliseconds(1));

  EXPECT_TRUE(lag.check());
}

TEST_F(LoopLagTest, a_loop_that_is_late_again_and_again_is_stuck_until_it_is_in_time) {
  scope.spawn(&LoopLag::run, &lag);
  world.advance(milliseconds(1));
  for (int i = 0; i < LoopLag::kLateTicksMax; ++i) {
    EXPECT_TRUE(lag.check()) << i;
    stall(seconds(4));
    world.advance(milliseconds(1));
  }
  EXPECT_EQ(lag.check().outcome(), Outcome::busy);

  world.advance(seconds(2));
  EXPECT_TRUE(lag.check());
}

}  // namespace
}  // namespace isthmus::app

#include "isthmus/cloud/deletion_stop.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;

TEST(deletion_stop, stops_until_the_latest_that_was_said) {
  DeletionStop stop;
  const Moment now = Moment{} + 1h;
  EXPECT_FALSE(stop.stopped(now));
  stop.stop_until(now + 10min, "first");
  stop.stop_until(now + 5min, "second");
  EXPECT_TRUE(stop.stopped(now + 10min - 1ns));
  EXPECT_FALSE(stop.stopped(now + 10min));
  EXPECT_EQ(stop.why(), "first");
}

}  // namespace
}  // namespace isthmus::cloud

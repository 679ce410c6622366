#include "isthmus/cloud/subject.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

TEST(subject, is_counted_by_what_it_is_and_uncounted_again) {
  Census census;
  const Subject worker{.uid = "1", .zone = "a", .ready = true};
  const Subject master{.uid = "2", .zone = "b", .control_plane = true, .ready = true};
  const Subject ill{.uid = "3", .zone = "b", .control_plane = true};
  for (const Subject* each : {&worker, &master, &ill}) census.add(*each);
  EXPECT_EQ(census.nodes, 3U);
  EXPECT_EQ(census.ready, 2U);
  EXPECT_EQ(census.control_planes, 2U);
  EXPECT_EQ(census.control_planes_ready, 1U);
  EXPECT_EQ(census.zones, (std::map<std::string, std::size_t>{{"a", 1}, {"b", 2}}));
  for (const Subject* each : {&worker, &master, &ill}) census.remove(*each);
  EXPECT_EQ(census.nodes + census.ready + census.control_planes + census.control_planes_ready, 0U);
  EXPECT_TRUE(census.zones.empty());
}

TEST(subject, is_confirmed_gone_until_that_runs_out) {
  Subject subject;
  EXPECT_FALSE(subject.is_confirmed_gone(WallTime{}));
  subject.confirmed_gone_until = WallTime{} + std::chrono::hours(1);
  EXPECT_TRUE(subject.is_confirmed_gone(WallTime{}));
  EXPECT_FALSE(subject.is_confirmed_gone(WallTime{} + std::chrono::hours(1)));
}

}  // namespace
}  // namespace isthmus::cloud

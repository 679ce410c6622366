#include "isthmus/controllers/withheld.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/controllers/diary_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

struct withheld : ::testing::Test {
  void hold(std::size_t count, const std::string& why) {
    held.hold(cloud::ClusterUid::parse("6f0c3b1e-0f5a-4c4e-9d55-0a6f2a1f7b11").value(), count, why);
  }

  VirtualWorld world;
  Metrics metrics;
  MemoryLogger log;
  testing::Diary events;
  Gauge& gauge = metrics.gauge("kept", "Kept.");
  Withheld held{{.reason = "Kept", .what = "Things of nobody's"}, gauge, events, world.loop, log};
};

TEST_F(withheld, is_told_once_per_reason_and_counted_as_long_as_it_lasts) {
  hold(2, "nobody is seen");
  hold(3, "nobody is seen");
  EXPECT_TRUE(held.holds());
  EXPECT_EQ(gauge.value(), 3);
  hold(3, "cut off after 17 ms");
  world.advance(10min);
  hold(3, "too many at once");
  EXPECT_THAT(events.lines,
              ::testing::ElementsAre(
                  "Warning Kept kube-system: Things of nobody's are kept (2): nobody is seen",
                  "Warning Kept kube-system: Things of nobody's are kept (3): too many at once"));
}

TEST_F(withheld, is_told_anew_when_the_event_has_been_forgotten) {
  hold(2, "nobody is seen");
  world.advance(59min);
  hold(2, "nobody is seen");
  EXPECT_EQ(events.lines.size(), 1U);
  world.advance(1min);
  hold(2, "nobody is seen");
  EXPECT_EQ(events.lines.size(), 2U);
}

TEST_F(withheld, is_told_again_when_it_comes_back) {
  hold(2, "nobody is seen");
  held.release();
  EXPECT_FALSE(held.holds());
  EXPECT_EQ(gauge.value(), 0);
  hold(2, "nobody is seen");
  EXPECT_EQ(events.lines.size(), 2U);
  EXPECT_TRUE(log.mentions("held back no longer"));
}

}  // namespace
}  // namespace isthmus::controllers

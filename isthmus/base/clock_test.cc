#include "isthmus/base/clock.h"

#include <chrono>
#include <type_traits>

#include <gtest/gtest.h>

namespace isthmus {
namespace {

using namespace std::chrono_literals;

TEST(clock, writes_whole_seconds_for_kubernetes) {
  EXPECT_EQ(rfc3339(WallTime(0s)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339(WallTime(1'795'985'263s + 999ms)), "2026-11-29T20:47:43Z");
  EXPECT_EQ(rfc3339(WallTime(1'709'164'800s)), "2024-02-29T00:00:00Z");
}

TEST(clock, writes_six_digits_for_micro_time) {
  EXPECT_EQ(rfc3339_micro(WallTime(1'795'985'263s)), "2026-11-29T20:47:43.000000Z");
  EXPECT_EQ(rfc3339_micro(WallTime(1'795'985'263s + 1us + 999ns)), "2026-11-29T20:47:43.000001Z");
}

TEST(clock, rounds_times_before_1970_down_as_well) {
  EXPECT_EQ(rfc3339(WallTime(-1ns)), "1969-12-31T23:59:59Z");
  EXPECT_EQ(rfc3339_micro(WallTime(-1ns)), "1969-12-31T23:59:59.999999Z");
}

TEST(clock, nothing_is_later_than_the_end_of_time) {
  EXPECT_EQ(later(Moment(5s), 3s), Moment(8s));
  EXPECT_EQ(later(Moment(5s), -8s), Moment(-3s));
  EXPECT_EQ(later(Moment(5s), Duration::max()), Moment::max());
  EXPECT_EQ(later(Moment::max(), 1ns), Moment::max());
  EXPECT_EQ(later(Moment(-1s), Duration::max()), Moment::max() - 1s);
}

TEST(clock, monotonic_and_wall_time_do_not_mix) {
  EXPECT_FALSE((std::is_convertible_v<Moment, WallTime>));
  EXPECT_FALSE((std::is_convertible_v<WallTime, Moment>));
}

}  // namespace
}  // namespace isthmus

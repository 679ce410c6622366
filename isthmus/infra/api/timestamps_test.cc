#include "isthmus/infra/api/timestamps.h"

#include <gtest/gtest.h>

#include <chrono>

namespace isthmus::infra::api {
namespace {

using namespace std::chrono_literals;

TEST(rfc3339, times_of_any_offset_are_read) {
  WallTime noon =
      WallTime(std::chrono::sys_days(std::chrono::year(2026) / 11 / 29).time_since_epoch()) + 12h;
  EXPECT_EQ(parse_rfc3339("2026-11-29T12:00:00Z"), noon);
  EXPECT_EQ(parse_rfc3339("2026-11-29T13:30:00+01:30"), noon);
  EXPECT_EQ(parse_rfc3339("2026-11-29t07:00:00.250-05:00"), noon + 250ms);
  EXPECT_EQ(parse_rfc3339("2026-11-29T12:00:00.000000001999Z"), noon + 1ns);
  EXPECT_EQ(parse_rfc3339(rfc3339(noon)), noon);
  EXPECT_EQ(parse_rfc3339(rfc3339_micro(noon + 5us)), noon + 5us);
}

TEST(rfc3339, everything_else_is_none) {
  for (std::string_view text :
       {"", "2026-11-29", "2026-11-29T12:00:00", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z",
        "2026-11-29T24:00:00Z", "2026-11-29T12:60:00Z", "2026-11-29T12:00:00.Z",
        "2026-11-29T12:00:00+1:00", "2026-11-29T12:00:00Z ", "0001-01-01T00:00:00Z",
        "-026-11-29T12:00:00Z", "2026-11-29T12:00:00+24:00"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

}  // namespace
}  // namespace isthmus::infra::api

#include "isthmus/cloud/deletion_policy.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;

TEST(deletion_policy, has_modes_with_words) {
  for (const DeletionMode mode :
       {DeletionMode::strict, DeletionMode::upstream, DeletionMode::observe}) {
    EXPECT_EQ(parse_deletion_mode(to_string(mode)), mode);
  }
  EXPECT_EQ(parse_deletion_mode("Strict"), std::nullopt);
  EXPECT_EQ(parse_deletion_mode(""), std::nullopt);
}

TEST(deletion_policy, is_strict_by_default_and_within_its_limits) {
  EXPECT_EQ(DeletionPolicy{}.mode, DeletionMode::strict);
  EXPECT_TRUE(is_within_limits(DeletionPolicy{}));
}

TEST(deletion_policy, goes_down_to_each_floor_and_not_below) {
  const DeletionPolicy floor{.confirmations = 2,
                             .confirmation_spacing = 10s,
                             .min_absence = 1min,
                             .heartbeat_silence = 40s,
                             .not_ready = 40s,
                             .min_age = 2min,
                             .zone_freeze_percent = 55,
                             .latch_percent = 25};
  EXPECT_TRUE(is_within_limits(floor));
  const auto is_refused = [&](auto change) {
    DeletionPolicy policy = floor;
    change(policy);
    return !is_within_limits(policy);
  };
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.confirmations = 1; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.confirmation_spacing = 10s - 1ns; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.min_absence = 1min - 1ns; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.heartbeat_silence = 40s - 1ns; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.not_ready = 40s - 1ns; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.min_age = 2min - 1ns; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.zone_rate = 0; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.zone_burst = 0; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.zone_freeze_percent = 56; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.zone_freeze_percent = 0; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.latch_percent = 26; }));
  EXPECT_TRUE(is_refused([](DeletionPolicy& it) { it.latch_percent = 0; }));
}

TEST(deletion_policy, takes_three_or_a_tenth_for_the_most_that_may_go) {
  EXPECT_EQ(mass_limit({}, 0), 3U);
  EXPECT_EQ(mass_limit({}, 39), 3U);
  EXPECT_EQ(mass_limit({}, 40), 4U);
  EXPECT_EQ(mass_limit({}, 5000), 500U);
}

}  // namespace
}  // namespace isthmus::cloud

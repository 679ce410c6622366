#include "isthmus/infra/api/object.h"

#include <gtest/gtest.h>

#include <chrono>

namespace isthmus::infra::api {
namespace {

using namespace std::chrono_literals;

Condition ready(ConditionStatus status, WallTime when) {
  return {.type = "Ready", .status = status, .last_transition = when};
}

TEST(conditions, one_of_a_type_takes_the_place_of_the_one_before) {
  std::vector<Condition> conditions;
  set(conditions, ready(ConditionStatus::unknown, WallTime(1s)));
  set(conditions, {.type = "Accepted", .status = ConditionStatus::is_true});
  set(conditions, ready(ConditionStatus::is_true, WallTime(2s)));
  ASSERT_EQ(conditions.size(), 2u);
  ASSERT_NE(find(conditions, "Ready"), nullptr);
  EXPECT_EQ(*find(conditions, "Ready"), ready(ConditionStatus::is_true, WallTime(2s)));
  EXPECT_EQ(find(conditions, "Programmed"), nullptr);
}

TEST(conditions, keep_the_time_while_they_keep_the_status) {
  std::vector<Condition> conditions;
  set(conditions, ready(ConditionStatus::is_false, WallTime(1s)));
  Condition again = ready(ConditionStatus::is_false, WallTime(2s));
  again.reason = "PoolExhausted";
  again.observed_generation = 2;
  set(conditions, again);
  EXPECT_EQ(conditions[0].last_transition, WallTime(1s));
  EXPECT_EQ(conditions[0].reason, "PoolExhausted");
  EXPECT_EQ(conditions[0].observed_generation, 2u);
}

TEST(conditions, know_times_to_the_microsecond) {
  std::vector<Condition> conditions;
  set(conditions, ready(ConditionStatus::is_true, WallTime(1s + 1234ns)));
  EXPECT_EQ(conditions[0].last_transition, WallTime(1s + 1us));
}

}  // namespace
}  // namespace isthmus::infra::api

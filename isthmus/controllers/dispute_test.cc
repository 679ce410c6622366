#include "isthmus/controllers/dispute.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

TEST(dispute, parks_what_is_undone_a_third_time_within_ten_minutes) {
  Dispute dispute;
  EXPECT_TRUE(dispute.may_redo(Moment(1min)));
  EXPECT_TRUE(dispute.may_redo(Moment(2min)));
  EXPECT_FALSE(dispute.is_parked(Moment(2min)));
  EXPECT_FALSE(dispute.may_redo(Moment(10min)));
  EXPECT_TRUE(dispute.is_parked(Moment(69min)));
  EXPECT_FALSE(dispute.is_parked(Moment(70min)));
  EXPECT_EQ(dispute.parked_until(), Moment(70min));
}

TEST(dispute, never_parks_what_is_undone_now_and_then) {
  Dispute dispute;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(dispute.may_redo(Moment(i * 6min)));
}

TEST(dispute, parks_what_is_undone_again_after_the_one_more_try) {
  Dispute dispute;
  for (int i = 0; i < 3; ++i) dispute.may_redo(Moment(1min));
  EXPECT_FALSE(dispute.may_redo(Moment(3h)));
  EXPECT_EQ(dispute.parked_until(), Moment(4h));
}

TEST(dispute, is_over_a_day_after_it_was_parked) {
  Dispute dispute;
  for (int i = 0; i < 3; ++i) dispute.may_redo(Moment(1min));
  EXPECT_TRUE(dispute.may_redo(Moment(26h)));
  EXPECT_FALSE(dispute.is_parked(Moment(26h)));
}

}  // namespace
}  // namespace isthmus::controllers

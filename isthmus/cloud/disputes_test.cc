#include "isthmus/cloud/disputes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Moment kBegin = Moment{} + 1h;

TEST(disputes, begin_with_a_rumour_or_with_what_was_taken_back_and_stay_in_that_order) {
  Disputes disputes;
  disputes.said_gone("b", kBegin);
  EXPECT_FALSE(disputes.took_back("a", kBegin));
  disputes.said_gone("b", kBegin + 1s);
  EXPECT_THAT(disputes.open(), ElementsAre("b", "a"));
  EXPECT_TRUE(disputes.is_said_gone("b"));
  EXPECT_FALSE(disputes.is_said_gone("a"));
}

TEST(disputes, know_since_when_a_machine_is_said_to_be_gone) {
  Disputes disputes;
  EXPECT_EQ(disputes.said_gone_since("a"), std::nullopt);
  disputes.said_gone("a", kBegin);
  disputes.said_gone("a", kBegin + 8min);
  EXPECT_EQ(disputes.said_gone_since("a"), kBegin);
  disputes.expire(kBegin + 12min);
  EXPECT_TRUE(disputes.is_said_gone("a")) << "it was said again";
  EXPECT_FALSE(disputes.took_back("a", kBegin + 13min));
  disputes.said_gone("a", kBegin + 14min);
  EXPECT_EQ(disputes.said_gone_since("a"), kBegin + 14min);
  disputes.clear();
  EXPECT_FALSE(disputes.is_said_gone("a"));
  EXPECT_THAT(disputes.open(), IsEmpty());
}

TEST(disputes, catch_what_is_taken_back_twice_within_ten_minutes_and_begin_anew) {
  Disputes disputes;
  EXPECT_FALSE(disputes.took_back("a", kBegin));
  EXPECT_FALSE(disputes.took_back("b", kBegin + 1min)) << "about another machine";
  EXPECT_TRUE(disputes.took_back("a", kBegin + 10min));
  EXPECT_THAT(disputes.open(), ElementsAre("b"));
  EXPECT_FALSE(disputes.took_back("a", kBegin + 11min));
  EXPECT_FALSE(disputes.took_back("a", kBegin + 22min)) << "too late";
}

TEST(disputes, are_settled_but_what_was_taken_back_stays_counted) {
  Disputes disputes;
  EXPECT_FALSE(disputes.took_back("a", kBegin));
  disputes.said_gone("a", kBegin);
  disputes.settle("a");
  EXPECT_THAT(disputes.open(), IsEmpty());
  EXPECT_FALSE(disputes.is_said_gone("a"));
  EXPECT_TRUE(disputes.took_back("a", kBegin + 1min));
}

TEST(disputes, are_over_when_nothing_comes_of_them_within_ten_minutes) {
  Disputes disputes;
  disputes.said_gone("a", kBegin);
  EXPECT_FALSE(disputes.took_back("b", kBegin + 1min));
  disputes.expire(kBegin + 10min);
  EXPECT_THAT(disputes.open(), ElementsAre("a", "b"));
  disputes.expire(kBegin + 10min + 1s);
  EXPECT_THAT(disputes.open(), ElementsAre("b"));
  disputes.forget("b");
  EXPECT_THAT(disputes.open(), IsEmpty());
}

}  // namespace
}  // namespace isthmus::cloud

#include "isthmus/cloud/removal_latch.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;

class removal_latch : public ::testing::Test {
 protected:
  Now at(Duration after) const { return {begin + after, WallTime{} + after}; }
  // Views that agree, every minute.
  void agree(Duration from, Duration to) {
    for (Duration time = from; time <= to; time += 1min) latch.agreed(begin + time);
  }

  RemovalLatch latch{"zone/a", 15min};
  const Moment begin = Moment{} + 1h;
};

TEST_F(removal_latch, holds_everybody_from_when_it_falls) {
  EXPECT_FALSE(latch.holds("x"));
  EXPECT_TRUE(latch.engage(at(0s), "three of four are gone"));
  EXPECT_FALSE(latch.engage(at(1s), "again"));
  EXPECT_TRUE(latch.holds("x"));
  EXPECT_EQ(latch.id(), "node-deletion/zone/a/1970-01-01T00:00:00Z");
  EXPECT_EQ(latch.why(), "three of four are gone");
}

TEST_F(removal_latch, opens_after_an_unbroken_time_of_views_that_agree) {
  latch.engage(at(0s), "");
  agree(1min, 15min);
  EXPECT_FALSE(latch.settle({"x"}, begin + 15min));
  agree(16min, 16min);
  EXPECT_TRUE(latch.settle({"x"}, begin + 16min));
  EXPECT_FALSE(latch.engaged());
  EXPECT_TRUE(latch.has_let_through("x"));
  EXPECT_FALSE(latch.has_let_through("y"));
}

TEST_F(removal_latch, lets_only_those_through_who_waited_all_the_time_that_views_agreed) {
  latch.engage(at(0s), "");
  agree(1min, 1min);
  EXPECT_FALSE(latch.settle({"x", "z"}, begin + 1min));
  agree(2min, 16min);
  latch.forget("z");
  EXPECT_TRUE(latch.settle({"x", "y", "z"}, begin + 16min));
  EXPECT_TRUE(latch.has_let_through("x"));
  EXPECT_FALSE(latch.has_let_through("y")) << "it came later";
  EXPECT_FALSE(latch.has_let_through("z")) << "it came back";
}

TEST_F(removal_latch, begins_anew_after_a_view_that_disagrees) {
  latch.engage(at(0s), "");
  agree(1min, 10min);
  latch.disagreed();
  agree(11min, 25min);
  EXPECT_FALSE(latch.settle({}, begin + 25min));
  agree(26min, 26min);
  EXPECT_TRUE(latch.settle({}, begin + 26min));
}

TEST_F(removal_latch, does_not_take_a_time_without_views_for_an_agreement) {
  latch.engage(at(0s), "");
  agree(1min, 5min);
  agree(12min, 20min);
  EXPECT_FALSE(latch.settle({}, begin + 20min));
  agree(21min, 27min);
  EXPECT_FALSE(latch.settle({}, begin + 31min)) << "the last view is too old";
  agree(31min, 31min);
  EXPECT_FALSE(latch.settle({}, begin + 31min)) << "and what came before it does not count";
}

TEST_F(removal_latch, lets_only_those_through_who_waited_when_it_was_acknowledged) {
  latch.engage(at(0s), "");
  latch.note_acknowledged(true, {"x"});
  latch.note_acknowledged(true, {"x", "y"});
  EXPECT_FALSE(latch.holds("x"));
  EXPECT_TRUE(latch.holds("y"));
  latch.note_acknowledged(false, {});
  EXPECT_TRUE(latch.holds("x"));
}

TEST_F(removal_latch, does_not_keep_a_word_for_who_was_no_candidate_meanwhile) {
  latch.engage(at(0s), "");
  latch.note_acknowledged(true, {"x", "y"});
  latch.forget("x");
  EXPECT_TRUE(latch.holds("x"));
  EXPECT_FALSE(latch.holds("y"));
  latch.note_acknowledged(true, {"x", "y"});
  EXPECT_TRUE(latch.holds("x")) << "the word was about those who waited then";
}

TEST_F(removal_latch, needs_a_new_word_for_a_new_incident) {
  latch.engage(at(0s), "");
  const std::string first = latch.id();
  latch.note_acknowledged(true, {"x"});
  latch.release();
  latch.engage(at(1h), "");
  EXPECT_NE(latch.id(), first);
  EXPECT_TRUE(latch.holds("x"));
}

TEST_F(removal_latch, forgets_who_is_no_candidate_any_more) {
  latch.engage(at(0s), "");
  agree(1min, 16min);
  ASSERT_TRUE(latch.settle({"x"}, begin + 16min));
  EXPECT_FALSE(latch.is_idle());
  latch.forget("x");
  EXPECT_TRUE(latch.is_idle());
}

TEST_F(removal_latch, without_a_time_of_its_own_opens_only_by_word_or_without_reason) {
  RemovalLatch last("last-ready", std::nullopt);
  last.engage(at(0s), "");
  for (Duration time = 1min; time < 24h; time += 1min) last.agreed(begin + time);
  EXPECT_FALSE(last.settle({"x"}, begin + 24h));
  EXPECT_EQ(last.opens_at(), std::nullopt);
  last.release();
  EXPECT_FALSE(last.engaged());
}

}  // namespace
}  // namespace isthmus::cloud

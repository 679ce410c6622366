#include "isthmus/cloud/positive_control.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class positive_control : public ::testing::Test {
 protected:
  PositiveControl::Findings look(Duration after) {
    return control.look(
        begin + after,
        [this](const std::string& uid) {
          const auto place = renewed.find(uid);
          return place == renewed.end() ? std::nullopt : std::optional(begin + place->second);
        },
        [](const std::string& uid) { return uid != "unready"; });
  }
  void begin_view(Duration ended = 0s) {
    control.begin({.started = begin + ended - 1s,
                   .ended = begin + ended,
                   .lacking = {"gone", "newborn"},
                   .accountable = {"gone"},
                   .vouchers = {"well", "unready"}});
  }

  PositiveControl control;
  std::map<std::string, Duration> renewed;  // Later than that long after the list ended.
  const Moment begin = Moment{} + 1h;
};

TEST_F(positive_control, verifies_a_list_when_its_missing_are_silent_and_somebody_is_heard_of) {
  begin_view();
  EXPECT_EQ(control.next_look(), begin + 20s);
  renewed["well"] = 20s;
  EXPECT_FALSE(look(20s).verified);
  EXPECT_EQ(control.next_look(), begin + 35s);
  EXPECT_FALSE(look(34s).verified);
  const PositiveControl::Findings findings = look(35s);
  ASSERT_TRUE(findings.verified);
  EXPECT_EQ(findings.verified->lacking, (PositiveControl::Uids{"gone", "newborn"}));
  EXPECT_EQ(control.next_look(), std::nullopt);
}

TEST_F(positive_control, finds_a_contradiction_when_one_it_lacks_renews_later) {
  begin_view();
  begin_view(30s);
  look(20s);
  renewed["gone"] = 20s;
  EXPECT_THAT(look(35s).contradicting, ElementsAre("gone"));
  EXPECT_EQ(control.next_look(), std::nullopt) << "what else a liar has said";
}

TEST_F(positive_control, lets_one_renew_that_was_killed_while_it_was_listed) {
  begin_view();
  renewed["gone"] = 19s;
  renewed["well"] = 19s;
  look(20s);
  EXPECT_THAT(look(35s).contradicting, IsEmpty());
}

TEST_F(positive_control, does_not_hold_the_newly_born_against_a_list) {
  begin_view();
  look(20s);
  renewed["newborn"] = 25s;
  renewed["well"] = 25s;
  EXPECT_TRUE(look(35s).verified);
}

TEST_F(positive_control, verifies_nothing_while_nobody_is_heard_of) {
  begin_view();
  look(20s);
  renewed["unready"] = 30s;
  const PositiveControl::Findings findings = look(35s);
  EXPECT_FALSE(findings.verified);
  EXPECT_TRUE(findings.unvouched);
}

TEST_F(positive_control, judges_no_list_that_could_not_be_controlled_in_time) {
  begin_view();
  renewed["gone"] = 1min;
  renewed["well"] = 1min;
  EXPECT_THAT(look(2min + 1s).contradicting, IsEmpty());
  EXPECT_EQ(control.next_look(), std::nullopt);
  EXPECT_FALSE(look(2min + 20s).verified);
  begin_view();
  EXPECT_THAT(look(2min).contradicting, ElementsAre("gone"));
}

TEST_F(positive_control, verifies_nothing_by_a_look_that_comes_too_late) {
  begin_view();
  renewed["well"] = 1min;
  EXPECT_FALSE(look(20s).verified);
  const PositiveControl::Findings findings = look(2min + 1s);
  EXPECT_FALSE(findings.verified);
  EXPECT_TRUE(findings.unvouched);
}

TEST_F(positive_control, comes_to_an_end_however_fast_lists_come) {
  renewed["well"] = 100s;
  std::size_t verified = 0;
  for (Duration time = 0s; time <= 120s; time += 1s) {
    begin_view(time);
    if (look(time).verified) ++verified;
  }
  EXPECT_GE(verified, 3U);
}

}  // namespace
}  // namespace isthmus::cloud

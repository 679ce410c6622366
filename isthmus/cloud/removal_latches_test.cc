#include "isthmus/cloud/removal_latches.h"

#include <deque>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class removal_latches : public ::testing::Test {
 protected:
  // Nodes of a zone that are well.
  void populate(std::size_t count, const std::string& zone) {
    for (std::size_t i = 0; i < count; ++i) {
      census.add({.uid = fmt::format("{}-{}", zone, i), .zone = zone, .ready = true});
    }
  }
  // Some of them come under suspicion.
  void suspect(std::size_t count, const std::string& zone, bool announced = false) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string uid = fmt::format("{}-{}", zone, next_++);
      subjects.push_back({.uid = uid, .zone = zone, .announced = announced});
      suspects.push_back(&subjects.back());
      latches.suspected(subjects.back(), now.moment);
    }
  }
  std::vector<std::string> review() {
    std::vector<std::string> kinds;
    for (const Fallen& each : latches.review(suspects, census, now)) kinds.emplace_back(each.kind);
    return kinds;
  }
  std::vector<Condition> holding(const Subject& subject, std::size_t others = 10) {
    std::vector<Condition> conditions;
    for (const Unmet& each : latches.holding(subject, others)) conditions.push_back(each.condition);
    return conditions;
  }
  void pass(Duration time) {
    now.moment += time;
    now.wall += time;
  }

  RemovalLatches latches{DeletionPolicy{}};
  Census census;
  std::deque<Subject> subjects;
  std::vector<const Subject*> suspects;
  Now now{Moment{} + 24h, WallTime{} + 24h};

 private:
  int next_ = 0;
};

TEST_F(removal_latches, freeze_a_zone_that_loses_a_third_and_at_least_three) {
  populate(6, "a");
  populate(100, "b");
  suspect(2, "a");
  EXPECT_THAT(review(), IsEmpty()) << "two are a third, and no mass";
  suspect(1, "a");
  EXPECT_THAT(review(), ElementsAre("zone"));
  EXPECT_THAT(review(), IsEmpty()) << "it is told once";
  EXPECT_THAT(holding(subjects[0]), ElementsAre(Condition::zone_frozen));
  EXPECT_THAT(holding({.uid = "b-1", .zone = "b"}), IsEmpty());
}

TEST_F(removal_latches, do_not_freeze_a_zone_that_loses_less_than_a_third) {
  populate(10, "a");
  populate(100, "b");
  suspect(3, "a");
  EXPECT_THAT(review(), IsEmpty());
}

TEST_F(removal_latches, hold_the_cluster_when_more_than_a_tenth_comes_within_ten_minutes) {
  populate(100, "a");
  suspect(10, "a");
  EXPECT_THAT(review(), IsEmpty());
  pass(10min - 1s);
  suspect(1, "a");
  EXPECT_THAT(review(), ElementsAre("cluster"));
  EXPECT_THAT(holding(subjects[0]), ElementsAre(Condition::cluster_latched));
}

TEST_F(removal_latches, do_not_hold_a_tenth_that_comes_slowly) {
  populate(100, "a");
  for (int i = 0; i < 3; ++i) {
    suspect(5, "a");
    EXPECT_THAT(review(), IsEmpty());
    pass(10min);
  }
}

TEST_F(removal_latches, count_those_who_came_back) {
  populate(100, "a");
  for (int i = 0; i < 11; ++i) {
    suspects.clear();
    suspect(1, "a");
    EXPECT_EQ(review().size(), i == 10 ? 1U : 0U);
  }
}

TEST_F(removal_latches, hold_a_cluster_that_loses_half_however_small) {
  populate(2, "a");
  suspect(1, "a");
  EXPECT_THAT(review(), ElementsAre("cluster"));
}

TEST_F(removal_latches, do_not_count_whom_somebody_announced) {
  populate(20, "a");
  suspect(15, "a", true);
  EXPECT_THAT(review(), IsEmpty());
  suspect(8, "a");
  EXPECT_THAT(review(), ElementsAre("cluster", "zone"));
  EXPECT_THAT(holding(subjects[0]), IsEmpty());
  EXPECT_THAT(holding(subjects[16]),
              ElementsAre(Condition::zone_frozen, Condition::cluster_latched));
}

TEST_F(removal_latches, keep_the_last_node_that_is_ready) {
  EXPECT_THAT(holding({.uid = "x"}, 0), ElementsAre(Condition::last_ready));
  census.add({.uid = "x", .zone = "a"});
  suspect(1, "a");
  EXPECT_THAT(review(), ElementsAre("cluster", "last_ready"));
  const std::string id = latches.fallen()[1].id;
  latches.note_acknowledged(id, true, suspects);
  EXPECT_THAT(holding(subjects[0], 0), ElementsAre(Condition::cluster_latched));
  populate(10, "a");
  review();
  EXPECT_EQ(latches.fallen().size(), 1U) << "somebody is Ready again";
}

TEST_F(removal_latches, tell_of_one_incident_while_no_node_is_ready_and_suspicions_come_and_go) {
  suspect(1, "a");
  EXPECT_THAT(review(), ElementsAre("last_ready"));
  const std::string id = latches.fallen().at(0).id;

  suspects.clear();
  pass(9min);
  EXPECT_THAT(review(), IsEmpty());
  latches.note_acknowledged(id, true, suspects);
  suspect(1, "a");
  EXPECT_THAT(review(), IsEmpty());
  ASSERT_THAT(latches.fallen(), SizeIs(1));
  EXPECT_EQ(latches.fallen().at(0).id, id);
  latches.note_acknowledged(id, true, suspects);
  EXPECT_THAT(holding(subjects.back(), 0), IsEmpty());

  suspects.clear();
  pass(10min);
  EXPECT_THAT(review(), IsEmpty());
  EXPECT_THAT(latches.fallen(), IsEmpty());

  suspect(1, "a");
  EXPECT_THAT(review(), ElementsAre("last_ready"));
  populate(10, "b");
  EXPECT_THAT(review(), IsEmpty());
  EXPECT_THAT(latches.fallen(), IsEmpty());
}

TEST_F(removal_latches, open_by_acknowledgement_of_exactly_that_one) {
  populate(6, "a");
  populate(100, "b");
  suspect(3, "a");
  review();
  latches.note_acknowledged("node-deletion/zone/a/yesterday", true, suspects);
  EXPECT_THAT(holding(subjects[0]), ElementsAre(Condition::zone_frozen));
  latches.note_acknowledged(latches.fallen()[0].id, true, suspects);
  EXPECT_THAT(holding(subjects[0]), IsEmpty());
  EXPECT_TRUE(latches.has_let_through(subjects[0].uid));
}

TEST_F(removal_latches, let_a_frozen_zone_go_slowly_after_a_quarter_of_an_hour_of_agreement) {
  populate(6, "a");
  populate(100, "b");
  suspect(3, "a");
  review();
  for (int i = 0; i < 15; ++i) {
    EXPECT_THAT(holding(subjects[0]), ElementsAre(Condition::zone_frozen));
    latches.views_agreed(now.moment);
    review();
    pass(1min);
  }
  latches.views_agreed(now.moment);
  EXPECT_THAT(review(), IsEmpty());
  EXPECT_THAT(holding(subjects[0]), IsEmpty());
  EXPECT_TRUE(latches.has_let_through(subjects[0].uid));
  suspect(2, "a");
  EXPECT_THAT(review(), IsEmpty()) << "those let through do not count again";
  suspect(1, "a");
  EXPECT_THAT(review(), ElementsAre("zone"));
  EXPECT_THAT(holding(subjects[0]), IsEmpty());
  EXPECT_THAT(holding(subjects[5]), ElementsAre(Condition::zone_frozen));
}

TEST_F(removal_latches, hold_on_whoever_came_while_they_held_others) {
  populate(6, "a");
  populate(100, "b");
  suspect(3, "a");
  review();
  for (int i = 0; i < 15; ++i) {
    latches.views_agreed(now.moment);
    review();
    pass(1min);
  }
  suspect(1, "a");
  latches.views_agreed(now.moment);
  EXPECT_THAT(review(), ElementsAre("zone"));
  EXPECT_THAT(holding(subjects[0]), IsEmpty());
  EXPECT_THAT(holding(subjects[3]), ElementsAre(Condition::zone_frozen));
}

TEST_F(removal_latches, hold_on_in_the_cluster_whoever_came_later) {
  populate(100, "a");
  suspect(11, "a");
  review();
  for (int i = 0; i < 60; ++i) {
    latches.views_agreed(now.moment);
    review();
    pass(1min);
  }
  suspect(1, "a");
  latches.views_agreed(now.moment);
  EXPECT_THAT(review(), ElementsAre("cluster"));
  EXPECT_THAT(holding(subjects[0]), IsEmpty());
  EXPECT_THAT(holding(subjects[11]), ElementsAre(Condition::cluster_latched));
}

TEST_F(removal_latches, hold_the_cluster_for_an_hour_of_agreement) {
  populate(100, "a");
  suspect(11, "a");
  review();
  for (int i = 0; i < 90; ++i) {
    if (i == 29) latches.views_disagreed();
    latches.views_agreed(now.moment);
    review();
    EXPECT_EQ(latches.fallen().size(), i < 89 ? 1U : 0U) << i;
    pass(1min);
  }
}

TEST_F(removal_latches, open_when_all_came_back_and_views_agree) {
  populate(6, "a");
  suspect(3, "a");
  review();
  suspects.clear();
  for (int i = 0; i < 62; ++i) {
    latches.views_agreed(now.moment);
    review();
    pass(1min);
  }
  EXPECT_THAT(latches.fallen(), IsEmpty());
}

}  // namespace
}  // namespace isthmus::cloud

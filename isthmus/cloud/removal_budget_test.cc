#include "isthmus/cloud/removal_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class removal_budget : public ::testing::Test {
 protected:
  std::vector<Condition> refused(Removal removal) const {
    std::vector<Condition> conditions;
    for (const Unmet& each : budget.refusals(removal, population, now)) {
      conditions.push_back(each.condition);
    }
    return conditions;
  }
  void take(Removal removal) {
    removal.uid = std::to_string(++taken_);
    budget.take(removal, now);
  }

  RemovalBudget budget{DeletionPolicy{}};
  Population population{.nodes = 1000};
  Moment now = Moment{} + 24h;

 private:
  int taken_ = 0;
};

TEST_F(removal_budget, lets_three_of_a_zone_go_at_once_and_then_one_every_ten_seconds) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(refused({.zone = "a"}), IsEmpty());
    take({.zone = "a"});
  }
  EXPECT_THAT(refused({.zone = "a"}), ElementsAre(Condition::zone_rate));
  EXPECT_THAT(refused({.zone = "b"}), IsEmpty());
  EXPECT_EQ(budget.refusals({.zone = "a"}, population, now)[0].not_before, now + 10s);
  now += 10s;
  EXPECT_THAT(refused({.zone = "a"}), IsEmpty());
  take({.zone = "a"});
  EXPECT_THAT(refused({.zone = "a"}), ElementsAre(Condition::zone_rate));
  now += 1min;
  for (int i = 0; i < 3; ++i) take({.zone = "a"});
  EXPECT_THAT(refused({.zone = "a"}), ElementsAre(Condition::zone_rate)) << "it holds three";
}

TEST_F(removal_budget, gives_a_place_back) {
  population.nodes = 5;
  budget.take({.uid = "x", .zone = "a"}, now);
  EXPECT_THAT(refused({.zone = "a"}), ElementsAre(Condition::small_cluster));
  budget.give_back("x");
  EXPECT_THAT(refused({.zone = "a"}), IsEmpty());
}

TEST_F(removal_budget, counts_one_that_is_tried_twice_once) {
  population.nodes = 20;
  for (int i = 0; i < 5; ++i) budget.take({.uid = "x", .zone = "a"}, now);
  EXPECT_EQ(budget.recent(now), 1U);
}

TEST_F(removal_budget, ends_where_a_mass_begins) {
  population.nodes = 40;
  for (const char* zone : {"a", "b", "c", "d"}) take({.zone = zone});
  EXPECT_THAT(refused({.zone = "e"}), ElementsAre(Condition::cluster_budget));
  EXPECT_THAT(refused({.zone = "e", .announced = true}), IsEmpty());
  now += 10min - 1s;
  EXPECT_THAT(refused({.zone = "e"}), ElementsAre(Condition::cluster_budget));
  now += 1s;
  EXPECT_THAT(refused({.zone = "e"}), IsEmpty());
}

TEST_F(removal_budget, does_not_count_announced_ones_as_a_mass) {
  population.nodes = 40;
  for (int i = 0; i < 20; ++i) take({.zone = std::to_string(i), .announced = true});
  EXPECT_THAT(refused({.zone = "e"}), IsEmpty());
}

TEST_F(removal_budget, lets_a_small_cluster_lose_one_every_ten_minutes) {
  population.nodes = 10;
  take({.zone = "a", .announced = true});
  now += 10min - 1s;
  EXPECT_THAT(refused({.zone = "b"}), ElementsAre(Condition::small_cluster));
  population.nodes = 11;
  EXPECT_THAT(refused({.zone = "b"}), IsEmpty());
  population.nodes = 10;
  now += 1s;
  EXPECT_THAT(refused({.zone = "b"}), IsEmpty());
}

TEST_F(removal_budget, keeps_the_quorum_of_a_control_plane) {
  const Removal master{.zone = "a", .control_plane = true};
  const auto with = [&](std::size_t all, std::size_t ready) {
    population.control_planes = all;
    population.control_planes_ready = ready;
    return refused(master);
  };
  EXPECT_THAT(with(1, 0), ElementsAre(Condition::control_plane));
  EXPECT_THAT(with(2, 1), ElementsAre(Condition::control_plane));
  EXPECT_THAT(with(3, 1), ElementsAre(Condition::control_plane));
  EXPECT_THAT(with(3, 2), IsEmpty());
  EXPECT_THAT(with(5, 2), ElementsAre(Condition::control_plane));
  EXPECT_THAT(with(5, 3), IsEmpty());
}

TEST_F(removal_budget, lets_one_of_a_control_plane_go_every_half_hour) {
  population.control_planes = 5;
  population.control_planes_ready = 4;
  take({.zone = "a", .control_plane = true});
  now += 30min - 1s;
  EXPECT_THAT(refused({.zone = "b", .control_plane = true}), ElementsAre(Condition::control_plane));
  EXPECT_THAT(refused({.zone = "b"}), IsEmpty());
  take({.zone = "c"});  // What is forgotten meanwhile is not this.
  now += 1s;
  EXPECT_THAT(refused({.zone = "b", .control_plane = true}), IsEmpty());
}

TEST_F(removal_budget, lets_what_a_latch_has_let_through_go_every_five_minutes) {
  take({.zone = "a", .slow = true});
  now += 5min - 1s;
  EXPECT_THAT(refused({.zone = "b", .slow = true}), ElementsAre(Condition::slow_pace));
  EXPECT_THAT(refused({.zone = "b"}), IsEmpty());
  now += 1s;
  EXPECT_THAT(refused({.zone = "b", .slow = true}), IsEmpty());
}

}  // namespace
}  // namespace isthmus::cloud

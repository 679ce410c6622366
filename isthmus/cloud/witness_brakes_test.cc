// The brakes of the witness, each in the life of a cluster: what is really gone goes in the end,
// but slowly where it is much.
#include <gtest/gtest.h>

#include "isthmus/cloud/witness.h"
#include "isthmus/cloud/witness_testing.h"

namespace isthmus::cloud {
namespace {

using namespace std::chrono_literals;

class a_brake : public ::testing::Test, protected testing::WitnessStage {
 protected:
  void make_control_plane(const std::string& name) {
    change(name, [](Subject& subject) { subject.control_plane = true; });
  }
  // A dozen of a hundred that are gone, each of whom somebody has said something.
  void destroy_a_dozen(const std::function<void(Subject&)>& say) {
    add_members(100);
    for (int i = 0; i < 12; ++i) {
      destroy("n" + std::to_string(i));
      change("n" + std::to_string(i), say);
    }
  }
  // Which is withdrawn when they are suspected: from then on they are a mass.
  void expect_latch_when_withdrawn(const std::function<void(Subject&)>& withdraw) {
    deletes = false;
    pass(5min);
    EXPECT_EQ(id_of("cluster"), "none");
    for (int i = 0; i < 12; ++i) change("n" + std::to_string(i), withdraw);
    deletes = true;
    pass(30min);
    EXPECT_NE(id_of("cluster"), "none");
    EXPECT_TRUE(deleted.empty());
  }
  std::string id_of(std::string_view kind) const {
    for (const Fallen& each : witness.fallen()) {
      if (each.kind == kind) return each.id;
    }
    return "none";
  }
};

TEST_F(a_brake, lets_a_control_plane_lose_one_after_ten_minutes_and_keeps_its_quorum) {
  add_members(100);
  for (const char* name : {"n1", "n2", "n3"}) make_control_plane(name);
  destroy("n1");
  pass(10min);
  EXPECT_FALSE(is_deleted("n1"));
  pass(2min);
  EXPECT_TRUE(is_deleted("n1"));
  destroy("n2");
  pass(2h);
  EXPECT_FALSE(is_deleted("n2"));
  EXPECT_TRUE(verdict("n2").lacks(Condition::control_plane));
}

TEST_F(a_brake, lets_a_small_cluster_lose_one_every_ten_minutes) {
  add_members(5);
  destroy("n1");
  destroy("n2");
  pass(30min);
  ASSERT_EQ(deleted.size(), 2U);
  EXPECT_GE(deleted[1].at - deleted[0].at, 10min);
}

TEST_F(a_brake, keeps_the_last_node_that_is_ready_until_somebody_acknowledges) {
  add_members(3);
  for (const char* name : {"n0", "n1"}) stop_kubelet(name);
  pass(1min);
  change("n2", [&](Subject& subject) { subject.confirmed_gone_until = now.wall + 3h; });
  pass(30min);
  EXPECT_TRUE(verdict("n2").lacks(Condition::last_ready));
  EXPECT_TRUE(deleted.empty());
}

TEST_F(a_brake, lets_a_zone_that_lost_half_go_slowly_after_a_quarter_of_an_hour) {
  add_members(100, "a");
  add_members(6, "b");
  const Moment begin = now.moment;
  for (const char* name : {"n100", "n101", "n102"}) destroy(name);
  pass(15min);
  EXPECT_TRUE(deleted.empty());
  pass(20min);
  ASSERT_EQ(deleted.size(), 3U);
  EXPECT_GE(deleted[0].at - begin, 15min);
  EXPECT_GE(deleted[1].at - deleted[0].at, 5min);
  EXPECT_GE(deleted[2].at - deleted[1].at, 5min);
}

TEST_F(a_brake, lets_a_cluster_that_lost_many_go_slowly_after_an_hour) {
  add_members(100);
  for (int i = 0; i < 12; ++i) destroy("n" + std::to_string(i));
  pass(1h);
  EXPECT_TRUE(deleted.empty());
  EXPECT_EQ(found(Lie::mass_absence), 1U);
  pass(16min);
  EXPECT_GE(deleted.size(), 2U);
  EXPECT_LE(deleted.size(), 4U);
  pass(1h);
  EXPECT_EQ(deleted.size(), 12U);
}

TEST_F(a_brake, stays_on_while_views_do_not_agree) {
  add_members(100);
  for (int i = 0; i < 12; ++i) destroy("n" + std::to_string(i));
  for (int i = 0; i < 6; ++i) {
    pass(28min);
    list_error = Error{Outcome::lost, "cut"};
    pass(2min);
    list_error.reset();
  }
  EXPECT_TRUE(deleted.empty());
}

TEST_F(a_brake, lets_an_acknowledged_batch_go_and_nobody_else) {
  add_members(100);
  for (int i = 0; i < 12; ++i) destroy("n" + std::to_string(i));
  pass(5min);
  const std::string id = id_of("cluster");
  witness.note_acknowledged("node-deletion/cluster/another", true);
  pass(5min);
  EXPECT_TRUE(deleted.empty());
  witness.note_acknowledged(id, true);
  destroy("n50");
  pass(14min);
  EXPECT_EQ(deleted.size(), 3U);
  witness.note_acknowledged(id, false);
  pass(10min);
  EXPECT_EQ(deleted.size(), 3U);
  EXPECT_FALSE(is_deleted("n50"));
}

TEST_F(a_brake, is_not_for_those_who_are_confirmed_gone_until_that_runs_out) {
  add_members(100);
  deletes = false;
  const WallTime until = now.wall + 5min;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "n" + std::to_string(i);
    destroy(name);
    change(name, [&](Subject& subject) { subject.confirmed_gone_until = until; });
  }
  pass(1s);
  EXPECT_TRUE(verdict("n0").deletable()) << describe(verdict("n0"));
  pass(4min);
  EXPECT_EQ(id_of("cluster"), "none");
  pass(2min);
  EXPECT_NE(id_of("cluster"), "none");
  EXPECT_TRUE(verdict("n0").lacks(Condition::cluster_latched));
  deletes = true;
  pass(30min);
  EXPECT_TRUE(deleted.empty());
}

TEST_F(a_brake, is_for_those_confirmed_gone_where_that_had_run_out_before_anybody_saw_it) {
  add_members(100);
  for (int i = 0; i < 12; ++i) {
    const std::string name = "n" + std::to_string(i);
    destroy(name);
    change(name, [&](Subject& subject) { subject.confirmed_gone_until = now.wall - 1s; });
  }
  pass(30min);
  EXPECT_NE(id_of("cluster"), "none");
  EXPECT_TRUE(deleted.empty());
}

TEST_F(a_brake, is_for_those_confirmed_gone_where_that_is_withdrawn) {
  const WallTime until = now.wall + 3h;
  destroy_a_dozen([&](Subject& subject) { subject.confirmed_gone_until = until; });
  expect_latch_when_withdrawn([](Subject& subject) { subject.confirmed_gone_until.reset(); });
}

TEST_F(a_brake, is_for_those_whose_announcement_is_withdrawn) {
  destroy_a_dozen([](Subject& subject) { subject.announced = true; });
  expect_latch_when_withdrawn([](Subject& subject) { subject.announced = false; });
}

TEST_F(a_brake, is_not_for_those_whom_somebody_announced) {
  add_members(100);
  for (int i = 0; i < 40; ++i) {
    change("n" + std::to_string(i), [](Subject& subject) { subject.announced = true; });
    destroy("n" + std::to_string(i));
  }
  pass(15min);
  EXPECT_EQ(deleted.size(), 40U);
  EXPECT_EQ(found(Lie::mass_absence), 0U);
}

}  // namespace
}  // namespace isthmus::cloud

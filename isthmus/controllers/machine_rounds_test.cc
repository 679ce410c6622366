#include "isthmus/controllers/machine_rounds.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/controllers/witnesses_testing.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

class machine_rounds : public ::testing::Test {
 protected:
  machine_rounds() {
    for (int i = 0; i < 100; ++i) {
      const std::string name = "well" + std::to_string(i);
      witness.put({.uid = name, .name = name, .provider_id = "isthmus://" + name, .ready = true},
                  now());
    }
  }
  // Machines, and Nodes of them that are not Ready.
  void watch(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "m" + std::to_string(made_++);
      cloud.add(name, name);
      witness.put({.uid = name, .name = name, .provider_id = "isthmus://" + name}, now());
      rounds.watch(name, {"isthmus", name});
    }
  }
  cloud::Now now() const { return {world.loop.now(), world.loop.wall_now()}; }
  void round() { EXPECT_TRUE(world.run(rounds.round())); }
  void pass(Duration time) { world.advance(time); }
  // Rounds as they come due.
  void live(Duration time) {
    for (const Moment end = world.loop.now() + time; world.loop.now() < end;) {
      const std::optional<Moment> due = rounds.due();
      const Moment next = std::min(due.value_or(end), end);
      pass(std::max<Duration>(next - world.loop.now(), 100ms));
      if (due) round();
    }
  }

  VirtualWorld world;
  providers::fake::FakeProvider cloud{"isthmus"};
  Metrics metrics;
  cloud::InstanceCache machines{*cloud.capabilities().instances, world.loop, metrics};
  testing::FakeHeartbeats heartbeats{world.loop};
  cloud::DeletionStop stop;
  cloud::Witness witness{{}, "isthmus", stop};
  MachineRounds rounds{
      {}, {*cloud.capabilities().instances, machines, heartbeats, world.loop, metrics}, witness};

 private:
  int made_ = 0;
};

TEST_F(machine_rounds, are_not_due_while_nothing_matters) {
  EXPECT_EQ(rounds.due(), std::nullopt);
  watch(1);
  EXPECT_LE(*rounds.due(), world.loop.now());
  rounds.unwatch("m0");
  EXPECT_EQ(rounds.due(), std::nullopt);
}

TEST_F(machine_rounds, ask_for_a_few_by_id) {
  watch(10);
  round();
  EXPECT_EQ(cloud.gets, 10U);
  EXPECT_EQ(cloud.lists, 0U);
  EXPECT_EQ(rounds.report("m3")->power, cloud::Power::running);
  EXPECT_EQ(rounds.report("nobody"), std::nullopt);
}

TEST_F(machine_rounds, ask_for_many_by_one_list) {
  watch(11);
  round();
  EXPECT_EQ(cloud.gets, 0U);
  EXPECT_EQ(cloud.lists, 1U);
  EXPECT_EQ(rounds.report("m10")->presence, cloud::Presence::present);
}

TEST_F(machine_rounds, list_no_more_often_than_every_period_whoever_joins) {
  for (int i = 0; i < 10; ++i) {
    watch(20);
    live(1s);
  }
  EXPECT_LE(cloud.lists, 3U);
  EXPECT_EQ(cloud.gets, 0U);
}

TEST_F(machine_rounds, come_ever_later_while_the_cloud_says_the_same) {
  watch(1);
  live(10min);
  EXPECT_LE(cloud.gets, 15U);
  const std::size_t gets = cloud.gets;
  cloud.machines[0].power = cloud::Power::stopped;
  live(61s);
  EXPECT_EQ(rounds.report("m0")->power, cloud::Power::stopped);
  live(20s);
  EXPECT_GE(cloud.gets - gets, 3U) << "and soon again after a change";
}

TEST_F(machine_rounds, know_since_when_the_cloud_says_the_same) {
  watch(1);
  round();
  const Moment first = world.loop.now();
  live(2min);
  EXPECT_EQ(rounds.report("m0")->since, first);
  EXPECT_GT(rounds.report("m0")->asked_at, first);
}

TEST_F(machine_rounds, list_first_and_ask_by_id_only_for_whom_the_list_lacks) {
  watch(30);
  for (int i = 0; i < 3; ++i) cloud.remove("m" + std::to_string(i));
  round();
  EXPECT_EQ(cloud.lists, 1U);
  EXPECT_EQ(cloud.gets, 3U);
  EXPECT_EQ(heartbeats.reads, 1U);
  EXPECT_EQ(witness.suspects().size(), 3U);
}

TEST_F(machine_rounds, list_in_the_same_round_when_an_answer_makes_one_suspected) {
  watch(4);
  cloud.remove("m1");
  round();
  EXPECT_EQ(cloud.gets, 4U);
  EXPECT_EQ(cloud.lists, 1U);
  EXPECT_EQ(heartbeats.reads, 1U);
}

TEST_F(machine_rounds, take_an_error_for_nothing) {
  watch(30);
  cloud.faults.error = Error{Outcome::lost, "cut"};
  live(5min);
  EXPECT_TRUE(witness.suspects().empty());
  EXPECT_EQ(rounds.report("m0"), std::nullopt);
  EXPECT_LE(cloud.lists, 10U);
}

TEST_F(machine_rounds, look_at_kubelets_of_machines_that_are_off_only_if_wanted) {
  watch(1);
  cloud.machines[0].power = cloud::Power::stopped;
  live(5min);
  EXPECT_EQ(heartbeats.reads, 0U);
  rounds.want_silence("m0", true);
  live(1min);
  EXPECT_GE(heartbeats.reads, 3U);
  EXPECT_TRUE(rounds.silence("m0"));
}

TEST_F(machine_rounds, are_counted_as_upstream_counts) {
  watch(2);
  cloud.remove("m1");
  round();
  const std::string text = metrics.text();
  const std::string name = "cloud_node_lifecycle_controller_cloud_provider_calls_total";
  for (const std::string_view labels :
       {R"({operation="instance_exists",result="success"} 1)",
        R"({operation="instance_exists",result="instance_not_found"} 1)",
        R"({operation="list_instances",result="success"} 1)"}) {
    EXPECT_NE(text.find(name + std::string(labels)), std::string::npos) << labels;
  }
}

}  // namespace
}  // namespace isthmus::controllers

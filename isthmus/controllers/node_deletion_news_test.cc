#include "isthmus/controllers/node_deletion_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/controllers/diary_testing.h"
#include "isthmus/controllers/node_subject.h"
#include "isthmus/controllers/witnesses_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class deletion_news : public ::testing::Test {
 protected:
  deletion_news() {
    for (int i = 0; i < 20; ++i) put("n" + std::to_string(i), true);
  }
  void put(const std::string& name, bool ready, bool is_protected = false) {
    kube::Node node;
    node.meta = {.key = {"", name}, .uid = name};
    node.provider_id = "isthmus://" + name;
    if (ready) node.conditions = {{.type = "Ready", .status = "True"}};
    put(node);
    witness.put({.uid = name,
                 .name = name,
                 .provider_id = node.provider_id,
                 .ready = ready,
                 .is_protected = is_protected},
                now());
  }
  void put(const kube::Node& node) {
    nodes.apply({.item = {node.meta.key, node.meta.uid, std::to_string(++version_), node}});
    news.note(node);
  }
  void says_gone(const std::string& name) {
    witness.heard_by_id(name, std::unexpected(Error{Outcome::absent, "no such machine"}),
                        world.loop.now(), now());
  }
  // Twice it is gone by its id, and there in the list.
  void contradict(const std::string& name) {
    const cloud::ProviderId id{"isthmus", name};
    for (int i = 0; i < 2; ++i) {
      witness.heard_of(id, world.loop.now(), now());
      witness.heard_list({.items = {{.provider_id = id, .presence = cloud::Presence::present}},
                          .completeness = cloud::Completeness::partial},
                         world.loop.now(), now());
    }
  }
  void tell() { EXPECT_THAT(news.tell({.lease_left = 10s}), IsEmpty()); }
  cloud::Now now() const { return {world.loop.now(), world.loop.wall_now()}; }
  void pass(Duration time) { world.advance(time); }

  VirtualWorld world;
  kube::Store<kube::Node> nodes;
  cloud::DeletionStop stop;
  cloud::Witness witness{{}, "isthmus", stop};
  testing::FakeSafety safety;
  testing::Diary events;
  Metrics registry;
  NodeLifecycleMetrics metrics{registry};
  MemoryLogger log;
  NodeDeletionNews news{15min, {nodes, witness, stop, safety, events, world.loop, metrics, log}};

 private:
  int version_ = 0;
};

TEST_F(deletion_news, tell_once_that_a_machine_is_said_to_be_gone) {
  tell();
  EXPECT_THAT(events.lines, IsEmpty());
  put("n3", false);
  says_gone("n3");
  tell();
  tell();
  EXPECT_THAT(events.lines,
              ElementsAre("Normal InstanceMissing n3: the cloud says that isthmus://n3 is gone; "
                          "this Node is deleted when that is certain"));
  EXPECT_EQ(metrics.withheld(cloud::Condition::negatives).value(), 1);
}

TEST_F(deletion_news, tell_again_when_it_comes_back_after_a_while) {
  put("n3", false);
  says_gone("n3");
  tell();
  for (const auto& [pause, times] : {std::pair(10min, 1U), std::pair(11min, 2U)}) {
    put("n3", true);
    tell();
    EXPECT_EQ(metrics.withheld(cloud::Condition::negatives).value(), 0);
    pass(pause);
    tell();
    put("n3", false);
    says_gone("n3");
    tell();
    EXPECT_EQ(events.count("InstanceMissing n3"), times);
  }
}

TEST_F(deletion_news, tell_at_once_what_does_not_pass_by_itself_and_late_what_does) {
  put("n3", false);
  put("n4", false, true);
  says_gone("n3");
  says_gone("n4");
  tell();
  EXPECT_EQ(events.count("NodeDeletionWithheld n3"), 0U);
  EXPECT_EQ(events.count("NodeDeletionWithheld n4: its machine seems to be gone, and it is kept "
                         "(protected): the annotation isthmus.dev/node-protect protects it"),
            1U);
  EXPECT_TRUE(log.mentions("node deletion withheld"));
  pass(5min);
  tell();
  tell();
  EXPECT_EQ(events.count("NodeDeletionWithheld n3"), 1U);
  EXPECT_EQ(events.count("NodeDeletionWithheld n4"), 1U);
}

TEST_F(deletion_news, tell_again_after_an_hour_why_it_is_kept_for_events_do_not_last) {
  put("n4", false, true);
  says_gone("n4");
  tell();
  pass(59min);
  tell();
  EXPECT_EQ(events.count("NodeDeletionWithheld n4"), 1U);
  pass(1min);
  tell();
  tell();
  EXPECT_EQ(events.count("NodeDeletionWithheld n4"), 2U);
}

TEST_F(deletion_news, tell_of_a_mass_and_of_whoever_acknowledges_it) {
  for (int i = 0; i < 10; ++i) {
    put("n" + std::to_string(i), false);
    says_gone("n" + std::to_string(i));
  }
  tell();
  EXPECT_EQ(metrics.contradictions(cloud::Lie::mass_absence).value(), 2) << "cluster and zone";
  EXPECT_EQ(metrics.breakers("cluster").value(), 1);
  EXPECT_EQ(metrics.breakers("zone").value(), 1);
  EXPECT_EQ(events.count("NodeDeletionWithheld"), 10U);
  EXPECT_TRUE(log.mentions("deletions of Nodes are held"));
  for (const cloud::Fallen& each : witness.fallen()) safety.acknowledged.insert(each.id);
  tell();
  EXPECT_TRUE(log.mentions("a breaker is acknowledged"));
  EXPECT_FALSE(
      witness.judge("n3", {.lease_left = 10s}, now()).lacks(cloud::Condition::cluster_latched));
}

TEST_F(deletion_news, tell_of_a_cloud_that_contradicts_itself_again_only_after_a_while) {
  for (const auto& [pause, times] :
       {std::pair(0min, 1), std::pair(9min, 1), std::pair(9min, 1), std::pair(11min, 2)}) {
    pass(pause);
    contradict("n3");
    tell();
    tell();
    EXPECT_EQ(events.count("Warning CloudContradictsItself n3"), static_cast<std::size_t>(times));
    EXPECT_EQ(std::ranges::count_if(
                  log.lines,
                  [](const auto& line) { return line.text.contains("the cloud contradicts"); }),
              times);
  }
  EXPECT_EQ(metrics.contradictions(cloud::Lie::itself).value(), 4);
  EXPECT_EQ(metrics.stopped.value(), 1);
}

TEST_F(deletion_news, tell_ten_nodes_of_a_cloud_that_contradicts_itself_of_many) {
  for (int i = 0; i < 15; ++i) contradict("n" + std::to_string(i));
  tell();
  EXPECT_EQ(events.count("CloudContradictsItself"), 10U);
}

TEST_F(deletion_news, tell_of_a_node_without_an_id_when_it_is_ill_for_long) {
  kube::Node node;
  node.meta = {.key = {"", "nameless"}, .uid = "x"};
  put(node);
  ASSERT_TRUE(news.due());
  EXPECT_EQ(*news.due(), world.loop.now() + 15min);
  pass(15min);
  tell();
  tell();
  EXPECT_EQ(events.count("Warning NodeWithoutProviderID nameless"), 1U);
  EXPECT_EQ(*news.due(), world.loop.now() + 1h);
  pass(1h);
  tell();
  EXPECT_EQ(events.count("Warning NodeWithoutProviderID nameless"), 2U);
  node.provider_id = "isthmus://n3";
  put(node);
  EXPECT_EQ(news.due(), std::nullopt);
}

TEST_F(deletion_news, tell_of_a_node_whose_id_the_cloud_refuses_when_it_is_ill_for_long) {
  for (const bool ready : {true, false}) {
    put(ready ? "n3" : "n4", ready);
    witness.heard_by_id(ready ? "n3" : "n4", fail(Outcome::invalid, "no such uid"),
                        world.loop.now(), now());
  }
  tell();
  pass(14min);
  tell();
  EXPECT_THAT(events.lines, IsEmpty());
  pass(1min);
  tell();
  tell();
  EXPECT_THAT(events.lines,
              ElementsAre("Warning ProviderIDRefused n4: it is not Ready, and the cloud says that "
                          "no machine can have the providerID isthmus://n4, so as long as it says "
                          "so we do not delete the Node; if its machine is gone, delete it by "
                          "hand"));
}

TEST_F(deletion_news, tell_of_an_annotation_that_has_no_effect) {
  kube::Node node;
  node.meta = {.key = {"", "n3"}, .uid = "n3"};
  node.provider_id = "isthmus://n3";
  node.meta.annotations.set(std::string(kNodeConfirmedGoneAnnotation), "yes");
  put(node);
  put(node);
  EXPECT_EQ(events.count("Warning InvalidAnnotation n3"), 1U);
}

}  // namespace
}  // namespace isthmus::controllers

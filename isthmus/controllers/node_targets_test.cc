#include "isthmus/controllers/node_targets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

class NodeTargetsTest : public ::testing::Test {
 protected:
  NodeTargetsTest() {
    targets.belong_to(cloud::ClusterUid::parse("6f0c3b1e-0f5a-4c4e-9d55-0a6f2a1f7b11").value());
    nodes.replace({});
    scope.spawn(
        &NodeTargets::run, &targets,
        NodeTargets::Listener([this](const EligibleNodes& before, const EligibleNodes& after) {
          told.emplace_back(before.targets.size(), after.targets.size());
        }));
    world.settle();
  }
  void add_node(int i) {
    kube::Node node{.meta = {.key = {"", fmt::format("node{}", i)},
                             .uid = fmt::format("uid{}", i),
                             .resource_version = fmt::format("{}", ++version)}};
    node.addresses = {{"InternalIP", fmt::format("10.0.0.{}", i)}};
    nodes.apply({kube::ChangeKind::added,
                 {node.meta.key, node.meta.uid, node.meta.resource_version, node}});
  }
  std::size_t in_cloud() {
    return provider.target_sets.standing.at(targets.set_name()).targets.size();
  }
  static Task<Result<>> need(NodeTargets& targets, int& done) {
    CO_TRY(co_await targets.need());
    ++done;
    co_return {};
  }

  VirtualWorld world;
  providers::fake::FakeProvider provider;
  kube::Store<kube::Node> nodes;
  Metrics metrics;
  MemoryLogger log;
  std::vector<std::pair<std::size_t, std::size_t>> told;
  std::uint64_t version = 0;
  NodeTargets targets{{}, nodes, provider.capabilities().target_sets, world.loop, metrics, log};
  Scope scope{world.loop};
};

TEST_F(NodeTargetsTest, are_known_as_soon_as_the_nodes_are) {
  EXPECT_TRUE(targets.known().is_set());
  EXPECT_EQ(targets.nodes()->targets.size(), 0u);
  add_node(1);
  EXPECT_EQ(targets.nodes()->targets.size(), 0u);
  world.advance(1s);
  EXPECT_EQ(targets.nodes()->targets.size(), 1u);
  EXPECT_EQ(told.back(), std::pair(std::size_t{0}, std::size_t{1}));
}

TEST_F(NodeTargetsTest, many_who_need_the_set_make_one_call) {
  provider.faults.delay = 1s;
  int done = 0;
  for (int i = 0; i < 50; ++i) scope.spawn(need, std::ref(targets), std::ref(done));
  world.advance(2s);
  EXPECT_EQ(done, 50);
  EXPECT_EQ(provider.target_sets.ensures, 1u);
  scope.spawn(need, std::ref(targets), std::ref(done));
  world.settle();
  EXPECT_EQ(done, 51);
  EXPECT_EQ(provider.target_sets.ensures, 1u);
}

TEST_F(NodeTargetsTest, a_refresh_waits_for_the_older_call_and_then_tells_the_newest) {
  provider.faults.delay = 5s;
  int done = 0;
  scope.spawn(need, std::ref(targets), std::ref(done));
  world.advance(1s);
  add_node(1);
  world.advance(2s);
  EXPECT_TRUE(world.run(targets.refresh(false)));
  EXPECT_EQ(in_cloud(), 1u);
  EXPECT_EQ(provider.target_sets.ensures, 2u);
  EXPECT_TRUE(world.run(targets.refresh(false)));
  EXPECT_EQ(provider.target_sets.ensures, 2u);
  EXPECT_TRUE(world.run(targets.refresh(true)));
  EXPECT_EQ(provider.target_sets.ensures, 3u);
}

TEST_F(NodeTargetsTest, who_needs_the_set_while_it_is_taken_away_makes_it_anew) {
  EXPECT_TRUE(world.run(targets.need()));
  provider.faults.delay = 2s;
  scope.spawn(&NodeTargets::release, &targets);
  world.advance(1s);
  EXPECT_TRUE(world.run(targets.need()));
  EXPECT_EQ(provider.target_sets.standing.size(), 1u);
}

TEST_F(NodeTargetsTest, a_failed_call_fails_all_who_wait_and_the_next_begins_anew) {
  provider.faults.error = Error{Outcome::denied, "no"};
  provider.faults.errors = 1;
  EXPECT_EQ(world.run(targets.need()).outcome(), Outcome::denied);
  EXPECT_TRUE(world.run(targets.need()));
}

TEST_F(NodeTargetsTest, a_server_without_sets_has_no_name_for_one) {
  provider.target_sets.supported = false;
  EXPECT_NE(targets.set_name(), "");
  EXPECT_TRUE(world.run(targets.need()));
  EXPECT_EQ(targets.set_name(), "");
  EXPECT_TRUE(world.run(targets.refresh(true)));
  EXPECT_TRUE(world.run(targets.release()));
  EXPECT_EQ(provider.target_sets.ensures, 1u);
}

}  // namespace
}  // namespace isthmus::controllers

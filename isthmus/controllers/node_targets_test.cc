#include "isthmus/controllers/node_targets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/controllers/diary_testing.h"
#include "isthmus/kube/api/namespace.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

class NodeTargetsTest : public ::testing::Test {
 protected:
  NodeTargetsTest() {
    targets.belong_to(cloud::ClusterUid::parse(kCluster).value());
    api.put(kube::Namespace::resource,
            fmt::format(R"({{"metadata": {{"name": "kube-system", "uid": "{}"}}}})", kCluster));
    nodes.replace({});
    scope.spawn(
        &NodeTargets::run, &targets,
        NodeTargets::Listener([this](const EligibleNodes& before, const EligibleNodes& after) {
          told.emplace_back(before.targets.size(), after.targets.size());
        }));
    world.settle();
  }
  static constexpr std::string_view kCluster = "6f0c3b1e-0f5a-4c4e-9d55-0a6f2a1f7b11";

  // So many Nodes, as targets; the API server knows them too.
  void have_nodes(int count) {
    for (int i = 1; i <= count; ++i) {
      add_node(i);
      api.put(kube::Node::resource, fmt::format(R"({{"metadata": {{"name": "node{}"}}}})", i));
    }
    world.advance(2s);
  }
  void lose_node(int i) {
    const kube::ObjectKey key{"", fmt::format("node{}", i)};
    nodes.apply({kube::ChangeKind::deleted, {key, fmt::format("uid{}", i), "9999", kube::Node()}});
  }
  void delete_node(int i) {
    api.erase(kube::Node::resource, {"", fmt::format("node{}", i)});
    lose_node(i);
  }
  unsigned lists() const { return api.calls(kube::testing::Verb::list, "nodes"); }
  std::size_t count() const { return targets.nodes()->targets.size(); }

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
  kube::testing::FakeApi api{world.loop};
  testing::Diary events;
  providers::fake::FakeProvider provider;
  kube::Store<kube::Node> nodes;
  Metrics metrics;
  MemoryLogger log;
  std::vector<std::pair<std::size_t, std::size_t>> told;
  std::uint64_t version = 0;
  NodeTargets targets{{},
                      {.nodes = nodes,
                       .api = api,
                       .sets = provider.capabilities().target_sets,
                       .recorder = events,
                       .loop = world.loop,
                       .metrics = metrics,
                       .log = log}};
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

// What goes a few at a time goes unasked.
TEST_F(NodeTargetsTest, nodes_that_are_deleted_leave_at_once) {
  have_nodes(10);
  for (int i = 1; i <= 9; ++i) {
    delete_node(i);
    world.advance(2s);
    EXPECT_EQ(count(), 10U - static_cast<unsigned>(i));
  }
  EXPECT_EQ(lists(), 0U);
}

TEST_F(NodeTargetsTest, more_than_half_at_once_leave_as_soon_as_the_server_says_so_too) {
  have_nodes(10);
  for (int i = 1; i <= 6; ++i) delete_node(i);
  world.advance(2s);
  EXPECT_EQ(count(), 4U);
  EXPECT_EQ(lists(), 1U);
  EXPECT_TRUE(events.lines.empty());
}

TEST_F(NodeTargetsTest, those_that_the_server_still_knows_are_kept) {
  have_nodes(10);
  for (int i = 1; i <= 6; ++i) lose_node(i);
  world.advance(10min);
  EXPECT_EQ(count(), 10U);
  EXPECT_EQ(events.count("TargetRemovalWithheld"), 1U);
  EXPECT_EQ(events.count("(6): the API server knows Nodes that we do not see"), 1U);
  EXPECT_LE(lists(), 61U);
  for (int i = 1; i <= 6; ++i) delete_node(i);
  world.advance(11s);
  EXPECT_EQ(count(), 4U);
  EXPECT_TRUE(log.mentions("held back no longer"));
}

TEST_F(NodeTargetsTest, an_empty_view_takes_nobody_away) {
  have_nodes(3);
  nodes.replace({});
  world.advance(1h);
  EXPECT_EQ(count(), 3U);
  api.erase(kube::Namespace::resource, {"", "kube-system"});
  for (int i = 1; i <= 3; ++i) delete_node(i);
  world.advance(1h);
  EXPECT_EQ(count(), 3U);
}

TEST_F(NodeTargetsTest, a_server_that_cannot_be_asked_keeps_them_and_is_asked_again) {
  have_nodes(10);
  api.inject({.verb = kube::testing::Verb::list, .error = {Outcome::busy, "429"}});
  for (int i = 1; i <= 6; ++i) delete_node(i);
  world.advance(10s);
  EXPECT_EQ(count(), 10U);
  world.advance(30s);
  EXPECT_EQ(count(), 4U);
}

TEST_F(NodeTargetsTest, nodes_that_come_and_go_meanwhile_make_no_more_calls) {
  have_nodes(10);
  for (int i = 1; i <= 6; ++i) lose_node(i);
  for (int i = 0; i < 60; ++i) {
    add_node(20 + i % 2);
    world.advance(2s);
    lose_node(20 + i % 2);
    world.advance(2s);
  }
  EXPECT_LE(lists(), 25U);
}

}  // namespace
}  // namespace isthmus::controllers

#include "isthmus/controllers/node_writer.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"
#include "isthmus/kube/watcher.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;

class node_writer : public ::testing::Test {
 protected:
  node_writer() {
    put("a");
    scope.spawn(&kube::Watcher::run, &watcher);
    pass(1s);
  }
  void put(std::string_view label) {
    const json::value node{{"metadata", {{"name", "n"}, {"labels", {{"mine", label}}}}},
                           {"spec", {{"providerID", "isthmus://1"}}}};
    api.put(kube::Node::resource, compact_json(node));
  }
  void pass(Duration time) { world.advance(time); }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
  SeededRandom random{1};
  Metrics metrics;
  NullLogger log;
  kube::Store<kube::Node> nodes;
  kube::StoreSink<kube::Node> sink{nodes};
  kube::Watcher watcher{api, kube::Node::resource, sink, world.loop, random, metrics, log};
  NodeWriter writer{nodes, api, {}};
  const kube::ObjectKey key{"", "n"};
  const kube::NodeChange change{.added_taints = {{.key = "t", .effect = "NoSchedule"}}};
  Scope scope{world.loop};
};

TEST_F(node_writer, knows_what_it_wrote_before_the_watch_says_so) {
  api.frozen = true;
  const auto patched = world.run(writer.change(writer.find(key), change));
  ASSERT_TRUE(patched);
  EXPECT_TRUE(patched->done);
  EXPECT_NE(writer.find(key)->find_taint("t"), nullptr);
  EXPECT_EQ(nodes.find(key)->find_taint("t"), nullptr);
}

TEST_F(node_writer, writes_nothing_where_all_is_so) {
  ASSERT_TRUE(world.run(writer.change(writer.find(key), change)));
  pass(1s);
  const auto again = world.run(writer.change(writer.find(key), change));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->done);
  EXPECT_EQ(api.calls(Verb::patch), 1U);
}

TEST_F(node_writer, answers_with_the_live_node_after_a_conflict) {
  const auto seen = writer.find(key);
  api.frozen = true;
  put("b");
  const auto patched = world.run(writer.change(seen, change));
  ASSERT_TRUE(patched);
  EXPECT_FALSE(patched->done);
  EXPECT_EQ(patched->node->meta.labels.find("mine"), "b");
}

TEST_F(node_writer, answers_with_nothing_when_the_node_is_gone) {
  const auto seen = writer.find(key);
  api.frozen = true;
  api.erase(kube::Node::resource, key);
  const auto patched = world.run(writer.change(seen, change));
  ASSERT_TRUE(patched);
  EXPECT_FALSE(patched->done);
  EXPECT_EQ(patched->node, nullptr);
  const auto live = world.run(writer.read_live(seen));
  ASSERT_TRUE(live);
  EXPECT_EQ(*live, nullptr);
  EXPECT_TRUE(world.run(writer.remove(seen)));
}

TEST_F(node_writer, deletes_only_the_very_version_it_read) {
  const auto seen = writer.find(key);
  api.frozen = true;
  put("b");
  EXPECT_EQ(world.run(writer.remove(seen)).outcome(), Outcome::conflict);
  const auto live = world.run(writer.read_live(seen));
  ASSERT_TRUE(live);
  EXPECT_TRUE(world.run(writer.remove(*live)));
  EXPECT_TRUE(api.see(kube::Node::resource, key).is_null());
}

}  // namespace
}  // namespace isthmus::controllers

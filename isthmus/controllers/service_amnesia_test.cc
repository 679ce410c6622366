// An API server that has forgotten Services and Nodes: its store was emptied, or is an older copy.
// What serves traffic stays, and people are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service.h"
#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;

class service_amnesia : public testing::ServiceStory {
 protected:
  void start_with(int services) {
    start_with_nodes();
    for (int i = 0; i < services; ++i) put_service(fmt::format("web{}", i));
    pass(1s);
    for (int i = 0; i < services; ++i) {
      names.push_back(balancer_name(fmt::format("web{}", i)));
      remember(kube::Service::resource, {"default", fmt::format("web{}", i)});
    }
    for (const char* node : {"node1", "node2"}) remember(kube::Node::resource, {"", node});
    events.lines.clear();
  }
  void remember(const kube::ResourceType& resource, const kube::ObjectKey& key) {
    memories.emplace_back(resource, compact_json(api.see(resource, key)));
  }

  // Everything is forgotten; the server makes itself another kube-system.
  void empty_the_server() {
    api.restore_backup();
    api.put(
        kube::Namespace::resource,
        R"({"metadata": {"name": "kube-system", "uid": "0a6f2a1f-0f5a-4c4e-9d55-6f0c3b1e0f5a"}})");
    api.end_watches();
  }
  void remember_everything() {
    api.restore_backup();
    api.put(kube::Namespace::resource,
            fmt::format(R"({{"metadata": {{"name": "kube-system", "uid": "{}"}}}})", kClusterUid));
    for (const auto& [resource, document] : memories) api.put(resource, document);
    api.end_watches();
  }

  std::size_t standing() const { return cloud.load_balancers.standing.size(); }
  std::size_t targets() const {
    return cloud.has_target_sets
               ? cloud.target_sets.standing.at(set_name()).targets.size()
               : cloud.load_balancers.standing.at(names.at(0)).spec.targets.size();
  }

  std::vector<std::string> names;
  std::vector<std::pair<kube::ResourceType, std::string>> memories;
};

TEST_F(service_amnesia, an_emptied_server_takes_no_load_balancer_and_no_target) {
  start_with(10);
  const std::size_t calls = cloud.load_balancers.releases + cloud.target_sets.releases;
  empty_the_server();
  pass(50min);
  EXPECT_EQ(standing(), 10U);
  EXPECT_EQ(targets(), 2U);
  EXPECT_EQ(cloud.load_balancers.releases + cloud.target_sets.releases, calls);
  EXPECT_EQ(events.count("Warning LoadBalancerReleaseWithheld kube-system"), 1U);
  EXPECT_EQ(events.count("Warning TargetRemovalWithheld kube-system"), 1U);
  EXPECT_TRUE(measures("isthmus_load_balancer_orphans 10"));
  EXPECT_TRUE(measures("isthmus_load_balancer_releases_withheld 10"));
  EXPECT_TRUE(measures("isthmus_target_removals_withheld 2"));
  EXPECT_TRUE(log.mentions("a removal is held back"));
}

TEST_F(service_amnesia, nor_does_it_where_there_are_few_of_them) {
  start_with(1);
  empty_the_server();
  pass(50min);
  EXPECT_EQ(standing(), 1U);
  EXPECT_EQ(targets(), 2U);
  EXPECT_EQ(events.count("it has lost its store, or is another cluster's"), 1U);
}

TEST_F(service_amnesia, nor_where_services_are_made_anew_under_their_names) {
  start_with(1);
  empty_the_server();
  put_service("web0");
  pass(3h);
  EXPECT_TRUE(cloud.load_balancers.standing.contains(names[0]));
  EXPECT_EQ(events.count("Warning DeleteLoadBalancerFailed web0"), 1U);
}

TEST_F(service_amnesia, nor_where_targets_are_named_by_each) {
  cloud.has_target_sets = false;
  start_with(10);
  const std::size_t writes = cloud.load_balancers.writes;
  empty_the_server();
  pass(3h);
  EXPECT_EQ(standing(), 10U);
  EXPECT_EQ(targets(), 2U);
  EXPECT_EQ(cloud.load_balancers.writes, writes);
}

TEST_F(service_amnesia, a_server_that_remembers_finds_all_as_it_was) {
  start_with(10);
  empty_the_server();
  pass(1h);
  const std::size_t writes = cloud.load_balancers.writes;
  remember_everything();
  pass(10min);
  EXPECT_EQ(standing(), 10U);
  EXPECT_EQ(cloud.load_balancers.writes, writes);
  EXPECT_TRUE(measures("isthmus_load_balancer_orphans 0"));
  EXPECT_TRUE(measures("isthmus_load_balancer_releases_withheld 0"));
  EXPECT_TRUE(measures("isthmus_target_removals_withheld 0"));
  delete_service("web3");
  pass(10s);
  EXPECT_EQ(standing(), 9U);
}

TEST_F(service_amnesia, an_older_copy_that_lacks_many_takes_none_of_them) {
  start_with(10);
  memories.erase(memories.begin() + 6, memories.begin() + 10);
  remember_everything();
  pass(50min);
  EXPECT_EQ(standing(), 10U);
  EXPECT_EQ(events.count("was the cluster restored from a backup?"), 1U);
}

// Somebody has begun to look after them: the others are not fewer because they may go.
TEST_F(service_amnesia, nor_when_they_have_become_fewer) {
  start_with(10);
  memories.erase(memories.begin() + 6, memories.begin() + 10);
  remember_everything();
  pass(50min);
  cloud.load_balancers.take_away(names[9]);
  pass(3h);
  EXPECT_EQ(standing(), 9U);
  EXPECT_TRUE(measures("isthmus_load_balancer_releases_withheld 3"));
}

TEST_F(service_amnesia, a_list_without_any_node_confirms_nothing) {
  start_with_nodes();
  for (int i = 3; i <= 5; ++i) add_node(fmt::format("node{}", i), fmt::format("10.0.0.{}", i));
  put_service("web");
  pass(3s);
  for (int i = 1; i <= 3; ++i) api.erase(kube::Node::resource, {"", fmt::format("node{}", i)});
  pass(100ms);
  api.frozen = true;  // Two Nodes are seen, and the server knows none.
  for (int i = 4; i <= 5; ++i) api.erase(kube::Node::resource, {"", fmt::format("node{}", i)});
  pass(30s);
  EXPECT_EQ(cloud.target_sets.standing.at(set_name()).targets.size(), 5U);
}

// A Node that comes while all others are still missing is no reason to send everything to it.
TEST_F(service_amnesia, the_first_node_of_another_cluster_takes_no_target_away) {
  start_with(1);
  empty_the_server();
  pass(10min);
  add_node("node9", "10.0.0.9");
  pass(1h);
  EXPECT_EQ(targets(), 2U);
}

TEST_F(service_amnesia, the_last_node_stays_a_target_until_another_comes) {
  start_with(1);
  api.erase(kube::Node::resource, {"", "node1"});
  pass(3s);
  EXPECT_EQ(targets(), 1U);
  api.erase(kube::Node::resource, {"", "node2"});
  pass(50min);
  EXPECT_EQ(targets(), 1U);
  EXPECT_EQ(events.count("no Node is seen at all"), 1U);
  add_node("node3", "10.0.0.3");
  pass(12s);
  EXPECT_EQ(cloud.target_sets.standing.at(set_name()).targets[0].name, "node3");
}

}  // namespace
}  // namespace isthmus::controllers

// Nodes as targets: shared by all load balancers, or named by each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/service.h"
#include "isthmus/controllers/service_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using Health = cloud::LoadBalancerState::Health;

class service_nodes : public testing::ServiceStory {
 protected:
  void have_services(int count) {
    for (int i = 0; i < count; ++i) put_service(fmt::format("web{}", i));
    pass(1s);
  }
  void exclude(const std::string& node, bool excluded) {
    json::value object = api.see(kube::Node::resource, {"", node});
    object.as_object()["metadata"].as_object()["labels"] =
        excluded ? json::object{{kExcludedLabel, ""}} : json::object();
    api.put(kube::Node::resource, compact_json(object));
  }
  std::vector<std::string> shared() const {
    std::vector<std::string> names;
    for (const cloud::Target& target : cloud.target_sets.standing.at(set_name()).targets) {
      names.push_back(target.name);
    }
    return names;
  }
  // What a load balancer's checks say.
  void set_health(const std::string& service, Health health) {
    balancer(service).health = health;
    cloud.load_balancers.touched(balancer_name(service));
  }
  std::uint16_t check_port(const std::string& service) {
    return balancer(service).spec.health_check ? balancer(service).spec.health_check->port : 0;
  }
};

// D-S4: one call for any number of Services and Nodes that change together.
TEST_F(service_nodes, any_number_of_changes_is_one_call_for_all_services) {
  start_with_nodes();
  have_services(10);
  const std::size_t ensures = cloud.load_balancers.ensures;
  const std::size_t sets = cloud.target_sets.ensures;
  for (int i = 3; i < 23; ++i) {
    add_node(fmt::format("node{}", i), fmt::format("10.0.0.{}", i));
    pass(100ms);
  }
  pass(1500ms);
  EXPECT_EQ(cloud.target_sets.ensures, sets + 1);
  EXPECT_EQ(cloud.load_balancers.ensures, ensures);
  EXPECT_EQ(shared().size(), 22u);
}

TEST_F(service_nodes, changes_that_do_not_end_are_taken_in_all_the_same) {
  start_with_nodes();
  have_services(1);
  for (int i = 3; i < 123; ++i) {
    add_node(fmt::format("node{}", i), fmt::format("10.0.0.{}", i));
    pass(200ms);
  }
  EXPECT_GE(cloud.target_sets.ensures, 2u);
  EXPECT_LE(cloud.target_sets.ensures, 4u);
}

// D-S11, D-S12: a Node counts when it is initialized, and its address, its taints and its deletion
// are seen.
TEST_F(service_nodes, everything_that_matters_of_a_node_is_seen) {
  using ::testing::ElementsAre;
  start_with_nodes();
  have_services(1);
  EXPECT_THAT(shared(), ElementsAre("node1", "node2"));
  api.put(kube::Node::resource, R"({"metadata": {"name": "node3"}, "spec": {"taints": [
      {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}]},
      "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.3"}]}})");
  pass(2s);
  EXPECT_THAT(shared(), ElementsAre("node1", "node2"));
  add_node("node3", "10.0.0.3");
  pass(2s);
  EXPECT_THAT(shared(), ElementsAre("node1", "node2", "node3"));
  add_node("node3", "10.0.0.33");
  pass(2s);
  const auto& targets = cloud.target_sets.standing.at(set_name()).targets;
  EXPECT_EQ(to_string(targets[2].addresses[0]), "10.0.0.33");
  api.put(kube::Node::resource, R"({"metadata": {"name": "node3"}, "spec": {"taints": [
      {"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]},
      "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.33"}]}})");
  api.put(kube::Node::resource, R"({"metadata": {"name": "node2",
      "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]}, "spec": {},
      "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.2"}]}})");
  pass(2s);
  EXPECT_THAT(shared(), ElementsAre("node1"));
}

// D-S20: what counts is what it comes to, not how it came.
TEST_F(service_nodes, a_change_that_is_taken_back_is_none) {
  start_with_nodes();
  have_services(1);
  const std::size_t sets = cloud.target_sets.ensures;
  exclude("node2", true);
  pass(300ms);
  exclude("node2", false);
  pass(10s);
  EXPECT_EQ(cloud.target_sets.ensures, sets);
}

TEST_F(service_nodes, a_failed_call_is_made_again_and_counted) {
  start_with_nodes();
  have_services(1);
  cloud.faults.error = Error{Outcome::lost, "cut"};
  cloud.faults.errors = 2;
  add_node("node3", "10.0.0.3");
  pass(30s);
  EXPECT_EQ(shared().size(), 3u);
  EXPECT_TRUE(measures("service_controller_nodesync_error_total 2"));
  EXPECT_TRUE(measures("service_controller_nodesync_latency_seconds_count 2"));
}

TEST_F(service_nodes, without_any_node_the_service_says_so_and_has_its_address_all_the_same) {
  start();
  have_services(1);
  EXPECT_EQ(events.count("Warning UnAvailableLoadBalancer web0"), 1u);
  EXPECT_EQ(address("web0"), "192.0.2.1");
  add_node("node1", "10.0.0.1");
  pass(30s);
  EXPECT_EQ(shared().size(), 1u);
  exclude("node1", true);
  pass(30s);
  EXPECT_EQ(events.count("Warning UnAvailableLoadBalancer web0"), 2u);
}

TEST_F(service_nodes, a_new_service_does_not_wait_for_the_nodes_to_be_quiet) {
  start_with_nodes();
  have_services(1);
  for (int i = 0; i < 40; ++i) {
    exclude("node2", i % 2 == 0);
    if (i == 20) put_service("new");
    pass(100ms);
  }
  EXPECT_NE(address("new"), "");
}

// D-S3, D-S4: where the cloud has no target sets every load balancer names the Nodes, by the same
// road as its other changes, so an older set never lands on a newer one.
TEST_F(service_nodes, inline_targets_follow_for_each_service_spread_out) {
  cloud.has_target_sets = false;
  start_with_nodes();
  have_services(12);
  const std::size_t before = cloud.load_balancers.ensures;
  EXPECT_EQ(balancer("web0").spec.targets.size(), 2u);
  add_node("node3", "10.0.0.3");
  pass(1120ms);  // The Nodes are quiet after a second; each Service takes 20 ms more.
  EXPECT_GT(cloud.load_balancers.ensures, before);
  EXPECT_LT(cloud.load_balancers.ensures, before + 12);
  pass(1s);
  EXPECT_EQ(cloud.load_balancers.ensures, before + 12);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(balancer(fmt::format("web{}", i)).spec.targets.size(), 3u);
  }
  EXPECT_EQ(events.count("Normal UpdatedLoadBalancer"), 12u);
  EXPECT_EQ(events.count("EnsuringLoadBalancer"), 12u);
}

TEST_F(service_nodes, a_server_without_target_sets_after_all_is_told_inline) {
  cloud.target_sets.supported = false;
  start_with_nodes();
  have_services(2);
  EXPECT_EQ(balancer("web1").spec.targets.size(), 2u);
  EXPECT_EQ(balancer("web1").spec.target_set, "");
  EXPECT_EQ(address("web1") + address("web0"), "192.0.2.2192.0.2.1");
  EXPECT_EQ(events.count("Warning"), 0u);
}

TEST_F(service_nodes, the_shared_set_is_ensured_anew_now_and_then) {
  start_with_nodes();
  have_services(1);
  cloud.target_sets.standing.at(set_name()).targets.pop_back();
  pass(45min);
  EXPECT_EQ(shared().size(), 2u);
}

TEST_F(service_nodes, a_cloud_that_lost_everything_gets_everything_again) {
  start_with_nodes();
  have_services(2);
  pass(2min);
  cloud.load_balancers.cut_follows();
  cloud.load_balancers.take_all_away();
  cloud.target_sets.standing.clear();
  pass(1min);
  EXPECT_EQ(cloud.load_balancers.standing.size(), 2u);
  EXPECT_EQ(shared().size(), 2u);
  EXPECT_EQ(events.count("LoadBalancerRecreated"), 2u);
}

TEST_F(service_nodes, a_set_that_somebody_took_away_is_made_anew_for_the_next_service) {
  start_with_nodes();
  have_services(1);
  cloud.target_sets.standing.clear();
  put_service("new");
  pass(5s);
  EXPECT_NE(address("new"), "");
  EXPECT_EQ(shared().size(), 2u);
}

TEST_F(service_nodes, where_no_node_answers_for_kube_proxy_the_kubelet_does) {
  start_with_nodes();
  have_services(3);
  EXPECT_EQ(check_port("web0"), 10256);
  for (int i = 0; i < 3; ++i) set_health(fmt::format("web{}", i), Health::none);
  pass(10s);
  EXPECT_EQ(check_port("web0"), 10256);
  pass(15s);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(check_port(fmt::format("web{}", i)), 10250);
  EXPECT_EQ(events.count("NodeHealthFromKubelet"), 1u);
  kill();
  const std::size_t writes = cloud.load_balancers.writes;
  start();
  pass(1min);
  EXPECT_EQ(check_port("web0"), 10250);
  EXPECT_EQ(cloud.load_balancers.writes, writes);
  EXPECT_EQ(events.count("NodeHealthFromKubelet"), 1u);
}

TEST_F(service_nodes, a_kube_proxy_that_has_answered_once_is_not_given_up) {
  start_with_nodes();
  have_services(1);
  set_health("web0", Health::some);
  pass(1s);
  set_health("web0", Health::none);
  pass(10min);
  EXPECT_EQ(check_port("web0"), 10256);
}

TEST_F(service_nodes, a_short_or_explained_silence_of_kube_proxy_changes_nothing) {
  start_with_nodes();
  have_services(1);
  set_health("web0", Health::none);
  pass(10s);
  set_health("web0", Health::unknown);
  pass(1min);
  EXPECT_EQ(check_port("web0"), 10256);
  add_node("node1", "10.0.0.1", false);
  add_node("node2", "10.0.0.2", false);
  pass(3s);
  set_health("web0", Health::none);
  pass(10min);
  EXPECT_EQ(check_port("web0"), 10256);
}

TEST_F(service_nodes, another_port_of_the_kubelets_reaches_all_who_are_checked_there) {
  start_with_nodes();
  have_services(2);
  set_health("web0", Health::none);
  pass(25s);
  for (const char* node : {"node1", "node2"}) {
    json::value object = api.see(kube::Node::resource, {"", node});
    object.at_pointer("/status/daemonEndpoints/kubeletEndpoint/Port") = 10999;
    api.put(kube::Node::resource, compact_json(object));
  }
  pass(30s);
  EXPECT_EQ(check_port("web0"), 10999);
  EXPECT_EQ(check_port("web1"), 10999);
}

}  // namespace
}  // namespace isthmus::controllers

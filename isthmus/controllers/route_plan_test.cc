#include "isthmus/controllers/route_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/node_addresses.h"
#include "isthmus/controllers/node_plan.h"
#include "isthmus/controllers/pod_cidr.h"

namespace isthmus::controllers {
namespace {

using ::testing::HasSubstr;
using Claim = NodeRoutes::Claim;
using Step = PlannedRoute::Step;

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

struct route_plan : testing::Test {
  // Nodes are as old as they were added early.
  kube::Node& add(const std::string& name, std::vector<std::string> cidrs,
                  std::string provider_id = {}) {
    auto node = std::make_shared<kube::Node>();
    node->meta.key.name = name;
    node->meta.uid = "uid-" + name;
    node->meta.creation_time = WallTime(std::chrono::hours(++age));
    node->pod_cidrs = std::move(cidrs);
    node->provider_id = provider_id.empty() ? "isthmus://" + name : std::move(provider_id);
    kube::Node& added = *node;
    nodes[added.meta.key] = std::move(node);
    return added;
  }
  void stands(std::string_view destination, std::string machine, bool is_foreign = false) {
    present.push_back({.destination = prefix(destination),
                       .instance = cloud::ProviderId{"isthmus", std::move(machine)},
                       .standing = cloud::RouteState::Standing::applied,
                       .is_foreign = is_foreign});
  }
  RoutePlan plan() { return plan_routes(nodes, present, options); }
  NodeRoutes of(const std::string& name) { return plan().nodes.at({.name = name}); }
  // "10.244.1.0/24 a create", one line each.
  std::string steps() {
    static constexpr std::string_view kSteps[] = {"keep", "create", "replace", "move", "overlap"};
    std::string text;
    for (const PlannedRoute& one : plan().routes) {
      text +=
          fmt::format("{} {} {}\n", to_string(one.route.destination),
                      one.route.instance ? one.route.instance->id : to_string(*one.route.next_hop),
                      kSteps[static_cast<std::size_t>(one.step)]);
    }
    return text;
  }
  std::string ownerless() {
    std::string text;
    for (const auto& state : plan().ownerless) text += to_string(state.destination) + "\n";
    return text;
  }

  int age = 0;
  std::map<kube::ObjectKey, kube::Snapshot<kube::Node>> nodes;
  std::vector<cloud::RouteState> present;
  RoutePlanOptions options{.scheme = "isthmus",
                           .cluster_cidrs = parse_cluster_cidrs("10.244.0.0/16,fd00::/48").value()};
};

TEST_F(route_plan, makes_what_is_missing_and_keeps_what_stands) {
  add("a", {"10.244.1.0/24", "fd00:0:0:1::/64"});
  add("b", {"10.244.2.0/24"});
  stands("10.244.2.0/24", "b");
  EXPECT_EQ(steps(), "10.244.1.0/24 a create\n10.244.2.0/24 b keep\nfd00:0:0:1::/64 a create\n");
  EXPECT_EQ(of("a").claim, Claim::whole);
}

TEST_F(route_plan, reads_a_cidr_whatever_its_spelling_and_each_once) {
  add("a", {"10.244.1.77/24", "10.244.1.0/24", "FD00:0:0:1:0:0::/64"});
  stands("10.244.1.0/24", "a");
  stands("fd00:0:0:1::/64", "a");
  EXPECT_EQ(steps(), "10.244.1.0/24 a keep\nfd00:0:0:1::/64 a keep\n");
}

TEST_F(route_plan, moves_a_destination_to_the_machine_of_its_new_node) {
  add("b", {"10.244.1.0/24"});
  stands("10.244.1.0/24", "a");
  EXPECT_EQ(steps(), "10.244.1.0/24 b move\n");
  present[0].instance = std::nullopt;  // The cloud does not know whose it is.
  EXPECT_EQ(steps(), "10.244.1.0/24 b move\n");
}

TEST_F(route_plan, tells_a_new_route_that_overlaps_one_without_a_node_from_others) {
  add("b", {"10.244.1.0/24"});
  add("c", {"10.244.2.0/24"});
  add("d", {"10.244.4.0/24"});
  stands("10.244.0.0/23", "wider");
  stands("10.244.2.64/26", "narrower");
  EXPECT_EQ(steps(), "10.244.1.0/24 b overlap\n10.244.2.0/24 c overlap\n10.244.4.0/24 d create\n");
  present.clear();
  stands("10.0.0.0/8", "nobody's business");
  EXPECT_THAT(steps(), ::testing::HasSubstr("10.244.1.0/24 b create\n"));
}

TEST_F(route_plan, replaces_a_route_whose_next_hop_is_another) {
  kube::Node& node = add("a", {"10.244.1.0/24"});
  node.meta.annotations.set(kProvidedNodeIpAnnotation, "10.0.0.9");
  node.addresses = {{"InternalIP", "10.0.0.8"}, {"InternalIP", "10.0.0.9"}};
  stands("10.244.1.0/24", "a");
  EXPECT_EQ(steps(), "10.244.1.0/24 a replace\n");
  EXPECT_EQ(of("a").routes[0].next_hop, parse_ip("10.0.0.9").value());
  node.addresses = {{"InternalIP", "10.0.0.8"}};  // Nobody has confirmed what the kubelet says.
  EXPECT_EQ(steps(), "10.244.1.0/24 a keep\n");
}

TEST_F(route_plan, finds_ownerless_only_what_lies_wholly_inside_and_is_ours) {
  stands("10.244.3.0/24", "gone");
  stands("10.0.0.0/8", "wider");
  stands("10.244.0.0/15", "wider");
  stands("192.168.0.0/24", "elsewhere");
  stands("10.244.4.0/24", "theirs", true);
  EXPECT_EQ(ownerless(), "10.244.3.0/24\n");
  EXPECT_EQ(steps(),
            "10.0.0.0/8 wider keep\n10.244.0.0/15 wider keep\n192.168.0.0/24 elsewhere keep\n");
}

TEST_F(route_plan, never_finds_ownerless_what_any_node_has_whatever_its_state) {
  add("new", {"10.244.1.0/24"}).taints = {{.key = std::string(kUninitializedTaint)}};
  add("leaving", {"10.244.2.0/24"}).meta.deletion_time = WallTime(std::chrono::hours(1));
  add("contested", {"10.244.2.0/24"});
  for (const int number : {1, 2}) stands(fmt::format("10.244.{}.0/24", number), "old");
  EXPECT_EQ(ownerless(), "");
  EXPECT_EQ(steps(), "10.244.1.0/24 old keep\n10.244.2.0/24 old keep\n");
}

TEST_F(route_plan, makes_nothing_for_nodes_that_are_not_ready_for_it) {
  add("new", {"10.244.1.0/24"}).taints = {{.key = std::string(kUninitializedTaint)}};
  add("leaving", {"10.244.2.0/24"}).meta.deletion_time = WallTime(std::chrono::hours(1));
  add("without", {});
  EXPECT_EQ(steps(), "");
  EXPECT_EQ(of("without").claim, Claim::none);
}

TEST_F(route_plan, leads_to_the_address_of_a_node_whose_machine_is_not_in_this_cloud) {
  for (const std::string_view id : {"aws:///eu/i-1", "x"}) {
    nodes.clear();
    kube::Node& node = add("theirs", {"10.244.3.0/24", "fd00:0:0:3::/64"}, std::string(id));
    node.addresses = {{"ExternalIP", "192.0.2.1"}, {"InternalIP", "10.0.0.3"}};
    EXPECT_EQ(steps(), "10.244.3.0/24 10.0.0.3 create\n");
    EXPECT_TRUE(of("theirs").is_served);
    EXPECT_FALSE(of("theirs").is_ours);
    EXPECT_EQ(of("theirs").notices[0].reason, "NoNodeAddress");
    EXPECT_THAT(of("theirs").notices[0].message, HasSubstr("fd00:0:0:3::/64"));
  }
}

TEST_F(route_plan, gives_overlapping_cidrs_to_the_older_node) {
  add("old", {"10.244.2.0/23"});
  add("young", {"10.244.3.0/24"});
  add("wide", {"10.244.0.0/16"});
  add("free", {"10.244.9.0/24"});
  EXPECT_EQ(steps(), "10.244.2.0/23 old create\n10.244.9.0/24 free create\n");
  EXPECT_EQ(of("young").claim, Claim::contested);
  EXPECT_EQ(of("wide").claim, Claim::contested);
  EXPECT_EQ(of("young").notices[0].reason, "PodCIDRConflict");
  EXPECT_THAT(of("young").notices[0].message, HasSubstr("Node young"));
  EXPECT_THAT(of("young").notices[0].message, HasSubstr("Node old"));
}

TEST_F(route_plan, refuses_a_cidr_outside_of_the_cluster_and_one_that_is_none) {
  add("a", {"10.245.1.0/24", "10.244.1.0/24"});
  add("b", {"10.244.0.0/15"});
  add("c", {"nonsense"});
  EXPECT_EQ(steps(), "10.244.1.0/24 a create\n");
  EXPECT_EQ(of("a").claim, Claim::unfit);
  EXPECT_EQ(of("a").notices[0].reason, "PodCIDROutsideClusterCIDR");
  EXPECT_EQ(of("b").claim, Claim::unfit);
  EXPECT_EQ(of("c").notices[0].reason, "InvalidPodCIDR");
}

TEST_F(route_plan, refuses_a_cidr_that_machines_lie_in_and_other_nodes_keep_theirs) {
  options.cluster_cidrs = parse_cluster_cidrs("10.0.0.0/8").value();
  add("bad", {"10.0.0.0/9"});
  kube::Node& good = add("good", {"10.1.1.0/24"});
  good.addresses = {{"InternalIP", "10.0.0.11"}};
  EXPECT_EQ(steps(), "10.1.1.0/24 good create\n");
  EXPECT_EQ(of("good").claim, Claim::whole);
  EXPECT_EQ(of("bad").claim, Claim::unfit);
  ASSERT_EQ(of("bad").notices.size(), 1U);
  EXPECT_EQ(of("bad").notices[0].reason, "PodCIDRHoldsMachines");
  EXPECT_THAT(of("bad").notices[0].message,
              HasSubstr("10.0.0.0/9: it holds 10.0.0.11, the address of a Node"));
  stands("10.0.0.0/9", "bad");  // What stands for a Node's CIDR is not taken away.
  EXPECT_EQ(steps(), "10.0.0.0/9 bad keep\n10.1.1.0/24 good create\n");
  EXPECT_EQ(ownerless(), "");
}

TEST_F(route_plan, keeps_what_stands_outside_whatever_the_flag_says_now) {
  add("a", {"10.245.1.0/24"});
  stands("10.245.1.0/24", "a");
  EXPECT_EQ(steps(), "10.245.1.0/24 a keep\n");
  EXPECT_EQ(ownerless(), "");
}

TEST_F(route_plan, is_the_same_whatever_the_order_of_what_stands) {
  add("a", {"10.244.1.0/24"});
  add("b", {"10.244.2.0/24"});
  stands("10.244.3.0/24", "x");
  stands("10.244.1.0/24", "a");
  const RoutePlan one = plan();
  std::ranges::reverse(present);
  EXPECT_EQ(plan(), one);
}

TEST(route_changes, matter_but_for_heartbeats) {
  auto before = std::make_shared<kube::Node>();
  before->pod_cidrs = {"10.244.1.0/24"};
  before->provider_id = "isthmus://a";
  const auto matters = [&](auto edit) {
    auto after = std::make_shared<kube::Node>(*before);
    edit(*after);
    return route_change_matters({.key = {}, .before = before, .after = after});
  };
  EXPECT_FALSE(matters([](kube::Node& node) { node.meta.resource_version = "7"; }));
  EXPECT_FALSE(matters([](kube::Node& node) { node.conditions = {{"Ready", "True", "x"}}; }));
  EXPECT_FALSE(matters([](kube::Node& node) { node.addresses = {{"ExternalIP", "10.0.0.1"}}; }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.addresses = {{"InternalIP", "10.0.0.1"}}; }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.pod_cidrs.clear(); }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.provider_id.clear(); }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.meta.uid = "another"; }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.meta.deletion_time = WallTime(); }));
  EXPECT_TRUE(
      matters([](kube::Node& node) { node.taints = {{.key = std::string(kUninitializedTaint)}}; }));
  EXPECT_TRUE(route_change_matters({.key = {}, .before = before, .after = nullptr}));
}

}  // namespace
}  // namespace isthmus::controllers

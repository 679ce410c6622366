#include "isthmus/controllers/eligible_nodes.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "isthmus/controllers/node_plan.h"

namespace isthmus::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

IpAddress ip(std::string_view text) { return *parse_ip(text); }

kube::Node node(std::string name, std::vector<std::string> addresses = {"10.0.0.1"}) {
  kube::Node made{.meta = {.key = {"", std::move(name)}},
                  .provider_id = "isthmus://m1",
                  .conditions = {{.type = "Ready", .status = "True"}},
                  .kubelet_port = 10250};
  for (std::string& address : addresses) made.addresses.push_back({"InternalIP", address});
  return made;
}

NodesByKey by_key(const std::vector<kube::Node>& nodes) {
  NodesByKey snapshots;
  for (const kube::Node& one : nodes) {
    snapshots.emplace(one.meta.key, std::make_shared<const kube::Node>(one));
  }
  return snapshots;
}

EligibleNodes eligible(const std::vector<kube::Node>& nodes) {
  return eligible_nodes(by_key(nodes));
}

bool matters(std::optional<kube::Node> before, std::optional<kube::Node> after) {
  kube::Difference<kube::Node> difference;
  difference.key = {"", "node1"};
  if (before) difference.before = std::make_shared<const kube::Node>(*std::move(before));
  if (after) difference.after = std::make_shared<const kube::Node>(*std::move(after));
  return target_change_matters(difference);
}

using Change = void (*)(kube::Node& node);

TEST(eligible_nodes, are_all_that_nothing_speaks_against) {
  struct Row {
    std::string_view title;
    Change change;
  };
  for (const Row& row : {
           Row{"not ready", [](auto& n) { n.conditions[0].status = "False"; }},
           Row{"cordoned", [](auto& n) { n.unschedulable = true; }},
           Row{"tainted by somebody", [](auto& n) { n.taints = {{.key = "gpu"}}; }},
           Row{"without a providerID", [](auto& n) { n.provider_id.clear(); }},
           Row{"of another cloud", [](auto& n) { n.provider_id = "kind://docker/kind/node1"; }},
       }) {
    kube::Node one = node("node1");
    row.change(one);
    EXPECT_EQ(why_no_target(one), "") << row.title;
  }
}

// D-S11: a Node that is not initialized is no target. D-S12: nor is one that is leaving.
TEST(eligible_nodes, are_not_those_that_come_go_or_are_excluded) {
  struct Row {
    std::string_view why;
    Change change;
  };
  for (const Row& row : {
           Row{"is being deleted", [](auto& n) { n.meta.deletion_time = WallTime{}; }},
           Row{"is not initialized yet",
               [](auto& n) { n.taints = {{.key = std::string(kUninitializedTaint)}}; }},
           Row{"is about to be removed by the cluster autoscaler",
               [](auto& n) { n.taints = {{.key = std::string(kAutoscalerTaint)}}; }},
           Row{"is excluded by its label",
               [](auto& n) { n.meta.labels.set(kExcludedLabel, "true"); }},
           Row{"has no usable InternalIP", [](auto& n) { n.addresses.clear(); }},
           Row{"has no usable InternalIP",
               [](auto& n) { n.addresses = {{"ExternalIP", "192.0.2.1"}, {"Hostname", "n"}}; }},
           Row{"has no usable InternalIP",
               [](auto& n) { n.addresses = {{"InternalIP", "here"}, {"InternalIP", "::1"}}; }},
       }) {
    kube::Node one = node("node1");
    row.change(one);
    EXPECT_EQ(why_no_target(one), row.why);
    EXPECT_THAT(eligible({one}).targets, IsEmpty());
    EXPECT_THAT(eligible({one}).left_out, ElementsAre(Pair("node1", row.why)));
  }
}

TEST(eligible_nodes, read_the_excluding_label_as_upstream_does) {
  for (const char* no : {"0", "f", "F", "FALSE", "false", "False"}) {
    kube::Node one = node("node1");
    one.meta.labels.set(kExcludedLabel, no);
    EXPECT_EQ(why_no_target(one), "") << no;
  }
  for (const char* yes : {"", "1", "true", "no", "off", "fALSE", " false"}) {
    kube::Node one = node("node1");
    one.meta.labels.set(kExcludedLabel, yes);
    EXPECT_EQ(why_no_target(one), "is excluded by its label") << yes;
  }
}

TEST(eligible_nodes, are_targets_by_their_first_internal_ip_of_each_family) {
  kube::Node one = node("node1", {"fe80::1", "10.0.0.1", "10.0.0.9", "fd00::1", "fd00::9"});
  one.addresses.insert(one.addresses.begin(), {"ExternalIP", "192.0.2.1"});
  const cloud::Target target = target_of(one);
  EXPECT_EQ(target.name, "node1");
  EXPECT_THAT(target.addresses, ElementsAre(ip("10.0.0.1"), ip("fd00::1")));
  EXPECT_EQ(target.instance, (cloud::ProviderId{"isthmus", "m1"}));
  one.provider_id = "nonsense";
  EXPECT_EQ(target_of(one).instance, std::nullopt);
}

TEST(eligible_nodes, hold_an_address_once) {
  const EligibleNodes found =
      eligible({node("node1"), node("node2"), node("node3", {"10.0.0.1", "fd00::3"})});
  ASSERT_EQ(found.targets.size(), 2U);
  EXPECT_EQ(found.targets[0].name, "node1");
  EXPECT_EQ(found.targets[1].name, "node3");
  EXPECT_THAT(found.targets[1].addresses, ElementsAre(ip("fd00::3")));
  EXPECT_THAT(found.left_out, ElementsAre(Pair("node2", "has the address 10.0.0.1 of node1")));
}

TEST(eligible_nodes, know_the_port_that_most_kubelets_report) {
  EXPECT_EQ(eligible({}).kubelet_port, 10250);
  std::vector<kube::Node> nodes{node("a", {"10.0.0.1"}), node("b", {"10.0.0.2"}),
                                node("c", {"10.0.0.3"}), node("d", {"10.0.0.4"})};
  nodes[0].kubelet_port = 0;
  nodes[1].kubelet_port = 700'000;
  nodes[2].kubelet_port = 10260;
  nodes[3].kubelet_port = 10255;
  EXPECT_EQ(eligible(nodes).kubelet_port, 10255);
  nodes[0].kubelet_port = 10260;
  EXPECT_EQ(eligible(nodes).kubelet_port, 10260);
}

TEST(eligible_nodes, count_the_ready_ones) {
  std::vector<kube::Node> nodes{node("a", {"10.0.0.1"}), node("b", {"10.0.0.2"}),
                                node("c", {"10.0.0.3"}), node("d", {})};
  nodes[0].conditions.clear();
  nodes[1].conditions[0].status = "Unknown";
  EXPECT_EQ(eligible(nodes).ready, 1U);
}

// D-S4, D-S12: what a set is compared by holds names, addresses and provider ids.
TEST(eligible_nodes, have_a_hash_of_what_they_are_and_of_nothing_else) {
  const kube::Node one = node("node1", {"10.0.0.1", "fd00::1"});
  const std::string hash = eligible({one}).hash;
  for (Change change : std::initializer_list<Change>{
           [](auto& n) { n.conditions[0].status = "False"; },
           [](auto& n) { n.meta.resource_version = "8"; },
           [](auto& n) { n.meta.labels.set("rack", "7"); },
           [](auto& n) { n.addresses.push_back({"ExternalIP", "192.0.2.1"}); },
           [](auto& n) { std::ranges::reverse(n.pod_cidrs); },
       }) {
    kube::Node same = one;
    change(same);
    EXPECT_EQ(eligible({same}).hash, hash);
  }
  for (Change change : std::initializer_list<Change>{
           [](auto& n) { n.meta.key.name = "node2"; },
           [](auto& n) { n.addresses[0].address = "10.0.0.2"; },
           [](auto& n) { n.addresses.pop_back(); },
           [](auto& n) { n.provider_id = "isthmus://m2"; },
           [](auto& n) { n.provider_id.clear(); },
           [](auto& n) { n.meta.deletion_time = WallTime{}; },
       }) {
    kube::Node other = one;
    change(other);
    EXPECT_NE(eligible({other}).hash, hash);
  }
  EXPECT_NE(eligible({one, node("node2", {"10.0.0.2"})}).hash, hash);
  EXPECT_EQ(hash.size(), 32U);
}

TEST(eligible_nodes, do_not_depend_on_the_order_in_which_nodes_came) {
  EXPECT_TRUE(rc::check([] {
    const auto numbers = *rc::gen::unique<std::vector<int>>(rc::gen::inRange(0, 60));
    std::vector<kube::Node> nodes;
    for (const int number : numbers) {
      // Some share an address.
      nodes.push_back(
          node("node" + std::to_string(number), {"10.0.0." + std::to_string(1 + number / 2)}));
      if (number % 7 == 0) nodes.back().meta.labels.set(kExcludedLabel, "");
    }
    const EligibleNodes found = eligible(nodes);
    std::ranges::reverse(nodes);
    RC_ASSERT(eligible(nodes) == found);
    RC_ASSERT(std::ranges::is_sorted(found.targets, {}, &cloud::Target::name));
    RC_ASSERT(found.targets.size() + found.left_out.size() == nodes.size());
  }));
}

// D-S12, D-S20: the change of a Node is judged by what it comes to, so nothing is missed and a
// heartbeat is nothing.
TEST(eligible_nodes, change_with_what_targets_are_made_of) {
  EXPECT_TRUE(matters({}, node("node1")));
  EXPECT_TRUE(matters(node("node1"), {}));
  for (Change change : std::initializer_list<Change>{
           [](auto& n) { n.meta.deletion_time = WallTime{}; },
           [](auto& n) { n.taints = {{.key = std::string(kAutoscalerTaint)}}; },
           [](auto& n) { n.taints = {{.key = std::string(kUninitializedTaint)}}; },
           [](auto& n) { n.meta.labels.set(kExcludedLabel, ""); },
           [](auto& n) { n.addresses[0].address = "10.0.0.2"; },
           [](auto& n) { n.provider_id = "isthmus://m2"; },
           [](auto& n) { n.kubelet_port = 10260; },
           [](auto& n) { n.conditions[0].status = "Unknown"; },
       }) {
    kube::Node other = node("node1");
    change(other);
    EXPECT_TRUE(matters(node("node1"), other));
    EXPECT_TRUE(matters(other, node("node1")));
  }
}

TEST(eligible_nodes, do_not_change_with_anything_else) {
  for (Change change : std::initializer_list<Change>{
           [](auto& n) { n.meta.resource_version = "8"; },
           [](auto& n) { n.meta.labels.set("rack", "7"); },
           [](auto& n) { n.unschedulable = true; },
           [](auto& n) { n.taints = {{.key = "gpu"}}; },
           [](auto& n) { n.conditions.push_back({.type = "MemoryPressure", .status = "True"}); },
       }) {
    kube::Node same = node("node1");
    change(same);
    EXPECT_FALSE(matters(node("node1"), same));
  }
  kube::Node leaving = node("node1");
  leaving.meta.deletion_time = WallTime{};
  kube::Node excluded = node("node1");
  excluded.meta.labels.set(kExcludedLabel, "");
  EXPECT_FALSE(matters(leaving, excluded));
  EXPECT_FALSE(matters(leaving, {}));
  EXPECT_FALSE(matters({}, leaving));
}

TEST(vanished_targets, are_those_whose_nodes_have_left_without_a_word) {
  const kube::Node one = node("node1", {"10.0.0.1"});
  kube::Node two = node("node2", {"10.0.0.2"});
  const EligibleNodes before = eligible({one, two, node("node3", {"10.0.0.3"})});
  two.meta.labels.set(kExcludedLabel, "");
  EXPECT_THAT(vanished_targets(before, by_key({one, two})), ElementsAre("node3"));
}

TEST(vanished_targets, are_suspicious_where_they_are_more_than_half_or_the_last) {
  const EligibleNodes two = eligible({node("a", {"10.0.0.1"}), node("b", {"10.0.0.2"})});
  const EligibleNodes one = eligible({node("a", {"10.0.0.1"})});
  EXPECT_FALSE(is_suspicious_loss(two, one, 1));
  EXPECT_TRUE(is_suspicious_loss(two, one, 2));
  EXPECT_TRUE(is_suspicious_loss(two, eligible({}), 1));
  EXPECT_FALSE(is_suspicious_loss(two, eligible({}), 0));
}

}  // namespace
}  // namespace isthmus::controllers

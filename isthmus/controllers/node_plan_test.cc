#include "isthmus/controllers/node_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using cloud::AddressType;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

kube::Node tainted() {
  return {.meta = {.key = {"", "node1"}, .uid = "u1", .resource_version = "7"},
          .taints = {{.key = "other", .effect = "NoExecute"},
                     {.key = std::string(kUninitializedTaint), .value = "true"}},
          .addresses = {{"Hostname", "node1"}},
          .system_uuid = "00000001-0000-0000-0000-000000000000"};
}

kube::Node member() {
  kube::Node node = tainted();
  node.taints.clear();
  node.provider_id = "isthmus://m1";
  return node;
}

cloud::Instance machine(std::string id = "m1", std::string name = "node1") {
  return {.provider_id = {"isthmus", std::move(id)},
          .names = {std::move(name)},
          .addresses = {{AddressType::internal_ip, "10.0.0.1"}},
          .zone = "rack-7",
          .power = cloud::Power::running,
          .presence = cloud::Presence::present};
}

const NodePlanOptions kOptions{.scheme = "isthmus"};

NodePlan plan(const kube::Node& node, std::vector<cloud::Instance> machines) {
  return plan_node(node, {.machines = std::move(machines)}, kOptions);
}

template <class Alternative>
Alternative as(const NodePlan& plan) {
  const auto* what = std::get_if<Alternative>(&plan.what);
  EXPECT_NE(what, nullptr) << describe(plan);
  return what ? *what : Alternative{};
}

TEST(node_plan, initializes_a_tainted_node_that_is_one_present_machine) {
  const NodePlan made = plan(tainted(), {machine()});
  const auto act = as<Initialize>(made);
  EXPECT_EQ(act.provider_id, "isthmus://m1");
  EXPECT_EQ(act.change.provider_id, "isthmus://m1");
  EXPECT_THAT(act.change.removed_taints, ElementsAre(kUninitializedTaint));
  EXPECT_THAT(*act.addresses, ElementsAre(kube::NodeAddress{"InternalIP", "10.0.0.1"},
                                          kube::NodeAddress{"Hostname", "node1"}));
  EXPECT_EQ(act.change.labels.find("topology.kubernetes.io/zone"), "rack-7");
  EXPECT_EQ(describe(made),
            "initialize as isthmus://m1; addresses InternalIP 10.0.0.1, Hostname node1; providerID "
            "isthmus://m1; label failure-domain.beta.kubernetes.io/zone=rack-7; label "
            "topology.kubernetes.io/zone=rack-7; no taint "
            "node.cloudprovider.kubernetes.io/uninitialized");
}

TEST(node_plan, never_removes_the_taint_unless_everything_is_certain) {
  struct Row {
    std::string_view title;
    void (*change)(kube::Node& node, Evidence& evidence);
    std::string_view cause;
  };
  for (const Row& row : {
           Row{"no machine", [](auto&, Evidence& e) { e.machines.clear(); }, "machine_not_found"},
           Row{"two machines of its name",
               [](auto&, Evidence& e) { e.machines.push_back(machine("m2")); },
               "machine_ambiguous"},
           Row{"another Node holds it",
               [](auto&, Evidence& e) { e.held_by["isthmus://m1"] = "n2"; }, "machine_held"},
           Row{"retired",
               [](auto&, Evidence& e) { e.machines[0].presence = cloud::Presence::absent; },
               "machine_retired"},
           Row{"nobody vouches",
               [](auto&, Evidence& e) { e.machines[0].presence = cloud::Presence::unknown; },
               "machine_unknown"},
           Row{"another board", [](auto&, Evidence& e) { e.machines[0].system_uuid = "x"; },
               "machine_mismatch"},
           Row{"its providerID is of no machine",
               [](kube::Node& n, Evidence&) { n.provider_id = "isthmus://m9"; },
               "machine_not_found"},
           Row{"its kubelet listens elsewhere",
               [](kube::Node& n, Evidence&) {
                 n.meta.annotations.set(kProvidedNodeIpAnnotation, "10.0.0.9");
               },
               "node_ip_not_found"},
           Row{"its annotation is no address",
               [](kube::Node& n, Evidence&) {
                 n.meta.annotations.set(kProvidedNodeIpAnnotation, "here");
               },
               "node_ip_unreadable"},
       }) {
    kube::Node node = tainted();
    Evidence evidence{.machines = {machine()}};
    row.change(node, evidence);
    const auto refused = as<Refuse>(plan_node(node, evidence, kOptions));
    EXPECT_EQ(refused.cause, row.cause) << row.title;
    EXPECT_EQ(refused.reason,
              row.cause.starts_with("node_ip") ? "NodeIPNotFound" : "FailedToInitialize");
    EXPECT_EQ(refused.retry, row.cause == "node_ip_unreadable" ? Retry::on_change : Retry::later);
  }
}

TEST(node_plan, names_the_candidates_when_it_cannot_choose) {
  const auto refused = as<Refuse>(plan(tainted(), {machine("m1"), machine("m2", "NODE1")}));
  EXPECT_EQ(refused.message,
            "2 machines have its name: node1 (isthmus://m1), NODE1 (isthmus://m2)");
}

TEST(node_plan, says_what_it_looked_for_in_vain) {
  const auto refused =
      as<Refuse>(plan_node(tainted(), {.completeness = cloud::Completeness::partial}, kOptions));
  EXPECT_EQ(refused.message,
            "no machine has its system UUID 00000001-0000-0000-0000-000000000000 or name node1 "
            "(the cloud could not list all machines)");
}

TEST(node_plan, keeps_a_provider_id_that_the_kubelet_brought) {
  kube::Node node = tainted();
  node.provider_id = "isthmus://m1";
  const auto act = as<Initialize>(plan(node, {machine("m1", "called-otherwise"), machine("m2")}));
  EXPECT_EQ(act.provider_id, "isthmus://m1");
  EXPECT_EQ(act.change.provider_id, "");
}

TEST(node_plan, writes_no_addresses_that_are_right_already_or_not_known) {
  kube::Node node = tainted();
  node.addresses = {{"InternalIP", "10.0.0.1"}, {"Hostname", "node1"}};
  EXPECT_EQ(as<Initialize>(plan(node, {machine()})).addresses, std::nullopt);
  cloud::Instance silent = machine();
  silent.addresses.clear();
  EXPECT_EQ(as<Initialize>(plan(tainted(), {silent})).addresses, std::nullopt);
}

TEST(node_plan, sees_a_change_in_the_order_of_addresses) {
  kube::Node node = member();
  node.meta.labels.set("topology.kubernetes.io/zone", "rack-7");
  node.meta.labels.set("failure-domain.beta.kubernetes.io/zone", "rack-7");
  cloud::Instance dual = machine();
  dual.addresses = {{AddressType::internal_ip, "10.0.0.1"}, {AddressType::internal_ip, "fd00::1"}};
  node.addresses = {{"InternalIP", "10.0.0.1"}, {"InternalIP", "fd00::1"}, {"Hostname", "node1"}};
  as<Leave>(plan(node, {dual}));
  std::swap(node.addresses[0], node.addresses[1]);
  EXPECT_TRUE(as<Refresh>(plan(node, {dual})).addresses);
}

TEST(node_plan, leaves_a_node_of_somebody_else_alone_and_says_so) {
  for (const std::string_view id : {"aws:///eu/i-1", "something"}) {
    for (kube::Node node : {tainted(), member()}) {
      node.provider_id = id;
      const NodePlan made = plan(node, {});
      as<Leave>(made);
      ASSERT_EQ(made.notices.size(), 1U);
      EXPECT_EQ(made.notices[0].reason, "ForeignProviderID");
      EXPECT_FALSE(made.notices[0].warning);
      EXPECT_TRUE(std::holds_alternative<AskNothing>(question_for(node, kOptions)));
    }
  }
}

TEST(node_plan, says_whether_a_foreign_provider_id_names_anything) {
  kube::Node node = member();
  node.provider_id = "aws:///eu/i-1";
  EXPECT_THAT(plan(node, {}).notices[0].message, HasSubstr("is not of isthmus://"));
  node.provider_id = "isthmus://";
  EXPECT_THAT(plan(node, {}).notices[0].message,
              HasSubstr("providerID isthmus:// names no machine"));
}

TEST(node_plan, leaves_a_node_alone_that_never_asked_for_a_cloud) {
  kube::Node node = member();
  node.provider_id.clear();
  const NodePlan made = plan(node, {machine()});
  as<Leave>(made);
  ASSERT_EQ(made.notices.size(), 1U);
  EXPECT_EQ(made.notices[0].reason, "NoProviderID");
  EXPECT_THAT(made.notices[0].message,
              HasSubstr("kubectl taint node node1 "
                        "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"));
  EXPECT_TRUE(std::holds_alternative<AskNothing>(question_for(node, kOptions)));
}

TEST(node_plan, leaves_a_node_alone_that_is_being_deleted) {
  for (kube::Node node : {tainted(), member()}) {
    node.meta.deletion_time = WallTime{};
    const NodePlan made = plan(node, {machine()});
    as<Leave>(made);
    EXPECT_THAT(made.notices, IsEmpty());
  }
}

TEST(node_plan, asks_for_a_member_by_its_id_and_for_a_newcomer_by_all_it_has) {
  EXPECT_EQ(std::get<cloud::ProviderId>(question_for(member(), kOptions)),
            (cloud::ProviderId{"isthmus", "m1"}));
  kube::Node node = tainted();
  node.addresses.push_back({"InternalIP", "10.0.0.1"});
  node.meta.annotations.set(kProvidedNodeIpAnnotation, "10.0.0.1,fd00::1");
  EXPECT_EQ(std::get<cloud::InstanceQuery>(question_for(node, kOptions)),
            (cloud::InstanceQuery{
                "00000001-0000-0000-0000-000000000000", "node1", {"10.0.0.1", "fd00::1"}}));
}

TEST(node_plan, refreshes_what_the_machine_has_changed) {
  kube::Node node = member();
  node.meta.labels.set("topology.kubernetes.io/zone", "rack-6");
  const auto act = as<Refresh>(plan(node, {machine()}));
  EXPECT_TRUE(act.addresses);
  EXPECT_EQ(act.change.labels.find("topology.kubernetes.io/zone"), "rack-7");
  EXPECT_THAT(act.change.removed_taints, IsEmpty());
  EXPECT_EQ(act.change.provider_id, "");
}

TEST(node_plan, keeps_labels_as_they_are_when_told_to) {
  NodePlanOptions options = kOptions;
  options.refresh_labels = false;
  const auto act = as<Refresh>(plan_node(member(), {.machines = {machine()}}, options));
  EXPECT_TRUE(act.change.labels.empty());
}

TEST(node_plan, never_takes_anything_from_a_member_whose_machine_is_in_doubt) {
  struct Row {
    std::string_view title;
    void (*change)(Evidence& evidence);
  };
  for (const Row& row : {
           Row{"absent", [](Evidence& e) { e.machines.clear(); }},
           Row{"retired", [](Evidence& e) { e.machines[0].presence = cloud::Presence::absent; }},
           Row{"unknown", [](Evidence& e) { e.machines[0].presence = cloud::Presence::unknown; }},
           Row{"held", [](Evidence& e) { e.held_by["isthmus://m1"] = "node2"; }},
           Row{"another board", [](Evidence& e) { e.machines[0].system_uuid = "x"; }},
       }) {
    Evidence evidence{.machines = {machine()}};
    row.change(evidence);
    const NodePlan made = plan_node(member(), evidence, kOptions);
    as<Leave>(made);
    ASSERT_EQ(made.notices.size(), 1U) << row.title;
    EXPECT_EQ(made.notices[0].reason, "FailedToRefresh") << row.title;
    EXPECT_TRUE(made.notices[0].warning) << row.title;
  }
}

TEST(node_plan, still_refreshes_labels_when_the_address_of_a_member_is_gone) {
  kube::Node node = member();
  node.meta.annotations.set(kProvidedNodeIpAnnotation, "10.0.0.9");
  const NodePlan made = plan(node, {machine()});
  const auto act = as<Refresh>(made);
  EXPECT_EQ(act.addresses, std::nullopt);
  EXPECT_FALSE(act.change.labels.empty());
  ASSERT_EQ(made.notices.size(), 1U);
  EXPECT_EQ(made.notices[0].reason, "NodeIPNotFound");
}

TEST(node_plan, initializes_in_spite_of_a_bad_label_and_names_it) {
  cloud::Instance odd = machine();
  odd.labels = {{"rack", "seven of nine"}, {"kubernetes.io/role", "boss"}, {"good", "yes"}};
  const NodePlan made = plan(tainted(), {odd});
  EXPECT_EQ(as<Initialize>(made).change.labels.find("good"), "yes");
  ASSERT_EQ(made.notices.size(), 1U);
  EXPECT_EQ(made.notices[0].reason, "LabelsSkipped");
  EXPECT_THAT(made.notices[0].message, HasSubstr("rack=seven of nine: "));
  EXPECT_THAT(made.notices[0].message, HasSubstr("kubernetes.io/role=boss: the key is reserved"));
}

TEST(node_plan, leaves_out_an_address_that_no_machine_can_have_and_names_it) {
  cloud::Instance odd = machine();
  odd.addresses.push_back({cloud::AddressType::internal_ip, "127.0.0.1"});
  for (const kube::Node& node : {tainted(), member()}) {
    const NodePlan made = plan(node, {odd});
    ASSERT_EQ(made.notices.size(), 1U);
    EXPECT_EQ(made.notices[0].reason, "AddressesSkipped");
    EXPECT_TRUE(made.notices[0].warning);
    EXPECT_THAT(made.notices[0].message, HasSubstr("InternalIP \"127.0.0.1\": a loopback"));
    EXPECT_THAT(describe(made), Not(HasSubstr("127.0.0.1")));
  }
  kube::Node told_to_use_it = tainted();
  told_to_use_it.meta.annotations.set(kProvidedNodeIpAnnotation, "127.0.0.1");
  const NodePlan refused = plan(told_to_use_it, {odd});
  EXPECT_EQ(as<Refuse>(refused).reason, "NodeIPNotFound");
  ASSERT_EQ(refused.notices.size(), 1U);
  EXPECT_EQ(refused.notices[0].reason, "AddressesSkipped");
}

}  // namespace
}  // namespace isthmus::controllers

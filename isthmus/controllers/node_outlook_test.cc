#include "isthmus/controllers/node_outlook.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

struct node_outlook : ::testing::Test {
  node_outlook() { cloud.add("1", "n1", {{cloud::AddressType::internal_ip, "10.0.0.1"}}); }

  kube::Node newcomer(const std::string& name) const {
    return {.meta = {.key = {.name = name}, .uid = "uid-" + name, .resource_version = "1"},
            .taints = {{.key = std::string(kUninitializedTaint), .effect = "NoSchedule"}},
            .addresses = {{"Hostname", name}}};
  }
  Outlook of(kube::Node node) {
    std::vector<kube::Decoded<kube::Node>> all;
    all.push_back({node.meta.key, node.meta.uid, node.meta.resource_version, node});
    for (const kube::Node& other : others) {
      all.push_back({other.meta.key, other.meta.uid, other.meta.resource_version, other});
    }
    nodes.replace(std::move(all));
    return world.run(outlook.of(std::make_shared<const kube::Node>(std::move(node)))).value();
  }

  VirtualWorld world;
  providers::fake::FakeProvider cloud{"isthmus"};
  kube::Store<kube::Node> nodes;
  std::vector<kube::Node> others;
  NodeOutlook outlook{{.scheme = "isthmus"}, nodes, *cloud.capabilities().instances};
};

TEST_F(node_outlook, a_newcomer_with_a_machine_becomes_a_member) {
  EXPECT_EQ(
      of(newcomer("n1")),
      (Outlook{.kind = "Node",
               .key = {"", "n1"},
               .act = Act::initialize,
               .reason = "Uninitialized",
               .message = "initialize as isthmus://1",
               .details = {"addresses InternalIP 10.0.0.1, Hostname n1", "providerID isthmus://1",
                           "no taint node.cloudprovider.kubernetes.io/uninitialized"}}));
}

TEST_F(node_outlook, a_newcomer_without_one_is_refused_in_the_words_of_its_event) {
  const Outlook refused = of(newcomer("n9"));
  EXPECT_EQ(refused.act, Act::refuse);
  EXPECT_EQ(refused.reason, "FailedToInitialize");
  EXPECT_THAT(refused.message, HasSubstr("n9"));
  EXPECT_TRUE(refused.details.empty());
}

TEST_F(node_outlook, a_machine_of_another_node_is_not_given_twice) {
  others.push_back({.meta = {.key = {.name = "n0"}, .uid = "uid-n0", .resource_version = "1"},
                    .provider_id = "isthmus://1"});
  const Outlook refused = of(newcomer("n1"));
  EXPECT_EQ(refused.act, Act::refuse);
  EXPECT_THAT(refused.message, HasSubstr("n0"));
}

TEST_F(node_outlook, a_member_is_left_or_follows_its_machine) {
  kube::Node member = newcomer("n1");
  member.taints.clear();
  member.provider_id = "isthmus://1";
  const Outlook refresh = of(member);
  EXPECT_EQ(refresh.act, Act::refresh);
  EXPECT_EQ(refresh.message, "refresh");
  EXPECT_THAT(refresh.details, Contains("addresses InternalIP 10.0.0.1, Hostname n1"));

  member.addresses = {{"InternalIP", "10.0.0.1"}, {"Hostname", "n1"}};
  EXPECT_EQ(of(member),
            (Outlook{.kind = "Node", .key = {"", "n1"}, .message = "it is as its machine is"}));
}

TEST_F(node_outlook, says_why_a_node_is_nobodys_business) {
  kube::Node stranger = newcomer("n1");
  stranger.provider_id = "aws:///z/i-1";
  const Outlook left = of(stranger);
  EXPECT_EQ(left.act, Act::none);
  EXPECT_EQ(left.reason, "ForeignProviderID");
  ASSERT_EQ(left.details.size(), 1U);
  EXPECT_THAT(left.details[0], HasSubstr("aws:///z/i-1"));
}

TEST_F(node_outlook, is_unknown_while_the_cloud_does_not_say) {
  cloud.faults.error = Error{Outcome::lost, "connection refused"};
  EXPECT_EQ(of(newcomer("n1")),
            (Outlook{.kind = "Node",
                     .key = {"", "n1"},
                     .act = Act::unknown,
                     .reason = "CloudNotAsked",
                     .message = "the cloud cannot be asked about its machine: lost: connection "
                                "refused"}));
}

TEST_F(node_outlook, a_member_that_cannot_be_refreshed_is_refused_in_the_words_of_its_event) {
  kube::Node member = newcomer("n1");
  member.taints.clear();
  member.provider_id = "isthmus://7";
  const Outlook gone = of(member);
  EXPECT_EQ(gone.act, Act::refuse);
  EXPECT_EQ(gone.reason, "FailedToRefresh");
  EXPECT_THAT(gone.message, HasSubstr("isthmus://7"));
  EXPECT_TRUE(gone.details.empty());

  cloud.add("2", "n2").system_uuid = "another board";
  member.provider_id = "isthmus://2";
  member.system_uuid = "its board";
  const Outlook mismatch = of(member);
  EXPECT_EQ(mismatch.act, Act::refuse);
  EXPECT_EQ(mismatch.reason, "FailedToRefresh");
  EXPECT_THAT(mismatch.message, HasSubstr("another board"));
}

TEST_F(node_outlook, a_member_whose_machine_lacks_the_asked_address_is_refused) {
  kube::Node member = newcomer("n1");
  member.meta.annotations.set(kProvidedNodeIpAnnotation, "10.0.0.9");
  const NodePlan plan{Leave{"it is as its machine is"},
                      {{true, "NodeIPNotFound", "no machine has 10.0.0.9"}}};
  EXPECT_EQ(outlook_of(member, plan), (Outlook{.kind = "Node",
                                               .key = {"", "n1"},
                                               .act = Act::refuse,
                                               .reason = "NodeIPNotFound",
                                               .message = "no machine has 10.0.0.9"}));
}

TEST_F(node_outlook, a_member_with_a_label_that_is_not_taken_over_is_left_and_that_is_told) {
  const NodePlan plan{Leave{"it is as its machine is"},
                      {{true, "LabelsSkipped", "rack=a b: no label value"}}};
  EXPECT_EQ(outlook_of(newcomer("n1"), plan), (Outlook{.kind = "Node",
                                                       .key = {"", "n1"},
                                                       .reason = "LabelsSkipped",
                                                       .message = "it is as its machine is",
                                                       .details = {"rack=a b: no label value"}}));
}

}  // namespace
}  // namespace isthmus::controllers

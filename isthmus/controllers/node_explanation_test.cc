#include "isthmus/controllers/node_explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/node_lifecycle_plan.h"

namespace isthmus::controllers {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using State = Link::State;

cloud::Instance machine(const std::string& id) {
  return {.provider_id = {"isthmus", id},
          .names = {"n1"},
          .addresses = {{cloud::AddressType::internal_ip, "10.0.0.1"}},
          .zone = "rack-7",
          .power = cloud::Power::running,
          .presence = cloud::Presence::present};
}

LeaseFacts lease(std::string holder) {
  return {.key = {"kube-system", "ccm"},
          .exists = true,
          .spec = {.holder = std::move(holder),
                   .duration_seconds = 15,
                   .renew_time = "2026-01-01T00:00:59Z"},
          .looked_at = *kube::parse_rfc3339("2026-01-01T00:01:00Z")};
}

// A member that is well; each test breaks one link.
NodeFacts well() {
  kube::Node node{.meta = {.key = {.name = "n1"},
                           .uid = "u1",
                           .creation_time = *kube::parse_rfc3339("2026-01-01T00:00:00Z")},
                  .provider_id = "isthmus://m1",
                  .addresses = {{"InternalIP", "10.0.0.1"}},
                  .conditions = {{"Ready", "True", "KubeletReady"}}};
  return {.key = node.meta.key,
          .node = std::optional(node),
          .options = {.scheme = "isthmus"},
          .lease = lease("a_1"),
          .evidence =
              Evidence{.machines = {machine("m1")}, .completeness = cloud::Completeness::complete},
          .heartbeat = std::optional(lease("n1"))};
}

kube::Node& node_of(NodeFacts& facts) { return **facts.node; }

kube::Taint taint(std::string_view key) {
  return {.key = std::string(key), .effect = "NoSchedule"};
}

Link broken(const NodeFacts& facts) {
  const Explanation explanation = explain(facts);
  return is_broken(explanation) ? explanation.links.back() : Link{};
}

TEST(node_explanation, of_one_that_is_well_goes_from_the_object_to_its_kubelet) {
  const std::vector<Link> links{
      {"object", State::ok, "made 2026-01-01T00:00:00Z"},
      {"manager", State::ok, "a_1 holds kube-system/ccm and renewed it 1s ago"},
      {"switch", State::ok, "nobody has stopped all changes"},
      {"identity", State::ok, "providerID isthmus://m1"},
      {"machine", State::ok, machine("m1").describe() + ", zone rack-7"},
      {"power", State::ok, "it runs"},
      {"addresses", State::ok, "InternalIP 10.0.0.1"},
      {"taint", State::ok, "it is initialized"},
      {"kubelet", State::ok, "Ready is True (KubeletReady); its Lease says 2026-01-01T00:00:59Z"}};
  EXPECT_EQ(explain(well()).links, links);
}

TEST(node_explanation, stops_where_there_is_no_such_node) {
  NodeFacts facts = well();
  facts.node = std::optional<kube::Node>();
  EXPECT_EQ(broken(facts).evidence, "there is no Node n1");
  facts = well();
  node_of(facts).meta.deletion_time = WallTime(std::chrono::seconds(1));
  EXPECT_EQ(broken(facts).evidence, "it is being deleted");
}

TEST(node_explanation, stops_where_it_is_nobodys_or_somebody_elses) {
  NodeFacts facts = well();
  node_of(facts).provider_id.clear();
  EXPECT_EQ(broken(facts),
            (Link{"identity", State::broken,
                  "it has neither a providerID nor the taint "
                  "node.cloudprovider.kubernetes.io/uninitialized; it would be machine " +
                      machine("m1").describe(),
                  "either its kubelet registered it without --cloud-provider=external (later "
                  "that flag sets no taint), or somebody took the taint away; hand it over: "
                  "kubectl taint node n1 "
                  "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule"}));
  facts.evidence->machines.clear();
  EXPECT_THAT(broken(facts).evidence, HasSubstr("no machine would be its own yet: no machine has"));
  facts.evidence = fail(Outcome::unsupported, "no cloud was named");
  EXPECT_THAT(broken(facts).evidence, EndsWith("kubernetes.io/uninitialized"));
  node_of(facts).provider_id = "aws:///z/i-1";
  EXPECT_EQ(broken(facts).evidence, "providerID aws:///z/i-1 is not of isthmus://");
}

TEST(node_explanation, does_not_judge_a_provider_id_without_a_cloud) {
  NodeFacts facts = well();
  facts.evidence = fail(Outcome::unsupported, "the cloud that was named has no machines");
  EXPECT_THAT(explain(facts).links[4].next, HasSubstr("this cloud cannot say it"));
  facts.options.scheme.clear();
  facts.evidence = fail(Outcome::unsupported, "no cloud was named");
  const Explanation explanation = explain(facts);
  EXPECT_FALSE(is_broken(explanation));
  EXPECT_THAT(explanation.links[3].evidence, HasSubstr("isthmus://m1"));
  EXPECT_THAT(explanation.links[3].next, HasSubstr("name the cloud as the manager does"));
  EXPECT_EQ(explanation.links[4].next, explanation.links[3].next);
  EXPECT_EQ(unknown_links(explanation), (std::vector<std::string>{"identity", "machine"}));
}

TEST(node_explanation, stops_where_no_machine_matches_and_names_the_candidates) {
  NodeFacts facts = well();
  node_of(facts).provider_id.clear();
  node_of(facts).taints = {taint(kUninitializedTaint)};
  cloud::Instance twin = machine("m2");
  facts.evidence->machines.push_back(twin);
  const Link two = broken(facts);
  EXPECT_EQ(two.name, "machine");
  EXPECT_THAT(two.evidence, HasSubstr("machine_ambiguous"));
  EXPECT_THAT(two.evidence, HasSubstr("isthmus://m2"));

  facts.evidence->machines.clear();
  facts.evidence->completeness = cloud::Completeness::partial;
  EXPECT_THAT(broken(facts).evidence, HasSubstr("machine_not_found"));
  EXPECT_THAT(broken(facts).evidence, HasSubstr("has a hole in it"));
}

TEST(node_explanation, stops_at_a_machine_that_another_node_holds) {
  NodeFacts facts = well();
  node_of(facts).provider_id.clear();
  node_of(facts).taints = {taint(kUninitializedTaint)};
  facts.evidence->held_by = {{"isthmus://m1", "n0"}};
  EXPECT_THAT(broken(facts).evidence, HasSubstr("n0"));
}

TEST(node_explanation, says_why_the_deletion_of_a_gone_one_is_withheld) {
  NodeFacts facts = well();
  facts.evidence->machines.clear();
  facts.events = {{.type = "Warning",
                   .reason = "NodeDeletionWithheld",
                   .message = "heartbeat: its kubelet renewed its Lease 3s ago"}};
  EXPECT_THAT(broken(facts).evidence,
              HasSubstr("its deletion is withheld: heartbeat: its kubelet"));
}

TEST(node_explanation, advises_no_listing_of_a_machine_that_was_retired) {
  NodeFacts facts = well();
  facts.evidence->machines.clear();
  const std::string next = broken(facts).next;
  EXPECT_THAT(next, HasSubstr("never used again"));
  EXPECT_THAT(next, HasSubstr("kubectl delete node n1. If it is back: give it a new id"));
  EXPECT_THAT(next, EndsWith("restart its kubelet, which registers it anew"));
  facts.evidence->machines = {machine("m1")};
  facts.evidence->machines[0].presence = cloud::Presence::absent;
  EXPECT_EQ(broken(facts).next, next);

  node_of(facts).provider_id.clear();
  node_of(facts).taints = {taint(kUninitializedTaint)};
  EXPECT_THAT(broken(facts).evidence, HasSubstr("machine_retired"));
  EXPECT_THAT(broken(facts).next, EndsWith("if it is back, give it a new id in the cloud"));
}

TEST(node_explanation, advises_what_helps_against_each_doubt_about_the_machine) {
  NodeFacts facts = well();
  facts.evidence->machines[0].presence = cloud::Presence::unknown;
  EXPECT_THAT(broken(facts).next, HasSubstr("with the id that it has always had"));
  EXPECT_THAT(broken(facts).next, HasSubstr("state: retired"));
  facts = well();
  facts.evidence->held_by = {{"isthmus://m1", "n0"}};
  EXPECT_THAT(broken(facts).next, HasSubstr("one of the two Nodes"));
  facts = well();
  node_of(facts).system_uuid = "aaaaaaaa-0000-0000-0000-000000000001";
  facts.evidence->machines[0].system_uuid = "bbbbbbbb-0000-0000-0000-000000000001";
  EXPECT_THAT(broken(facts).evidence, HasSubstr("machine_mismatch"));
  EXPECT_THAT(broken(facts).next, HasSubstr("correct its system UUID in the cloud"));
  facts = well();
  node_of(facts).provider_id.clear();
  node_of(facts).taints = {taint(kUninitializedTaint)};
  facts.evidence->machines.clear();
  EXPECT_THAT(broken(facts).next, HasSubstr("give exactly one machine"));
}

TEST(node_explanation, names_the_addresses_that_are_left_out) {
  NodeFacts facts = well();
  facts.evidence->machines[0].addresses.push_back({cloud::AddressType::internal_ip, "127.0.0.1"});
  EXPECT_EQ(explain(facts).links[6].evidence,
            "InternalIP 10.0.0.1; of its machine are left out: InternalIP \"127.0.0.1\": a "
            "loopback address");
}

TEST(node_explanation, stops_at_a_machine_that_is_off) {
  NodeFacts facts = well();
  facts.evidence->machines[0].power = cloud::Power::stopped;
  EXPECT_EQ(broken(facts).evidence,
            "the cloud says that it is stopped; the Node is without the taint "
            "node.cloudprovider.kubernetes.io/shutdown");
  node_of(facts).taints = {taint(kShutdownTaint)};
  EXPECT_THAT(broken(facts).evidence, HasSubstr("is with the taint"));
  facts.evidence->machines[0].power = cloud::Power::running;
  EXPECT_EQ(broken(facts).name, "power") << "a taint that should go";
  facts.evidence->machines[0].power = cloud::Power::unknown;
  EXPECT_FALSE(is_broken(explain(facts)));
}

TEST(node_explanation, stops_at_addresses_that_are_not_its_machines) {
  NodeFacts facts = well();
  node_of(facts).addresses = {{"InternalIP", "10.0.0.9"}};
  EXPECT_EQ(broken(facts).name, "addresses");
  EXPECT_EQ(broken(facts).evidence, "InternalIP 10.0.0.9; its machine has InternalIP 10.0.0.1");
  node_of(facts).meta.annotations.set(kProvidedNodeIpAnnotation, "10.0.0.7");
  EXPECT_THAT(broken(facts).next, HasSubstr("--node-ip"));
}

TEST(node_explanation, stops_at_a_taint_that_nobody_takes_away) {
  NodeFacts facts = well();
  node_of(facts).taints = {taint(kUninitializedTaint)};
  EXPECT_EQ(broken(facts).name, "taint");
}

TEST(node_explanation, stops_at_a_kubelet_that_is_not_ready) {
  NodeFacts facts = well();
  node_of(facts).conditions = {{"Ready", "Unknown", "NodeStatusUnknown"}};
  EXPECT_EQ(broken(facts).evidence, "Ready is Unknown (NodeStatusUnknown)");
  node_of(facts).conditions.clear();
  EXPECT_EQ(broken(facts).evidence, "it has never said whether it is Ready");
}

TEST(node_explanation, says_that_events_may_not_be_seen) {
  NodeFacts facts = well();
  facts.no_events = Error{Outcome::denied, "needs the right to list events"};
  EXPECT_EQ(explain(facts).links[1].name, "events");
  EXPECT_EQ(explain(facts).links[1].state, State::unknown);
  EXPECT_FALSE(is_broken(explain(facts)));
}

TEST(node_explanation, goes_on_past_what_may_not_be_seen_and_names_the_right) {
  NodeFacts facts = well();
  facts.lease = fail(Outcome::denied, "needs the right to get leases in kube-system");
  facts.evidence = fail(Outcome::unsupported, "no cloud was named");
  facts.heartbeat = fail(Outcome::denied, "needs the right to get leases in kube-node-lease");
  const Explanation explanation = explain(facts);
  EXPECT_FALSE(is_broken(explanation));
  EXPECT_EQ(explanation.links[1].state, State::unknown);
  EXPECT_EQ(explanation.links[4].state, State::unknown);
  EXPECT_EQ(explanation.links.back().state, State::unknown);
  facts.heartbeat = std::optional<LeaseFacts>();
  EXPECT_THAT(explain(facts).links.back().evidence, HasSubstr("it has no Lease"));
  facts.node = fail(Outcome::denied, "needs the right to get nodes");
  EXPECT_EQ(explain(facts).links.size(), 1U);
}

}  // namespace
}  // namespace isthmus::controllers

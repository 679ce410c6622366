// The node controller and Nodes that are initialized, or not ours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/base/text.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/node_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class node_member : public testing::NodeStory {
 protected:
  void initialize() {
    register_node("node1");
    add_machine("1", "node1");
    start();
    pass(1s);
    ASSERT_FALSE(tainted("node1"));
    patches_before = patches();
  }
  // All counts of the controller's runs.
  std::string syncs() {
    std::string counts;
    const std::string text = metrics.text();
    for (const std::string_view line : split(text, '\n')) {
      if (line.starts_with("isthmus_node_syncs_total{")) counts += std::string(line) + "\n";
    }
    EXPECT_FALSE(counts.empty());
    return counts;
  }
  unsigned since() const { return patches() - patches_before; }
  unsigned patches_before = 0;
};

TEST_F(node_member, is_written_nothing_while_nothing_changes) {
  initialize();
  pass(24h);
  EXPECT_EQ(since(), 0U);
  EXPECT_EQ(events.lines.size(), 1U);
  EXPECT_LE(cloud.gets + cloud.lists, 24U * 60 / 5 * 12 / 10);
}

TEST_F(node_member, follows_its_machine_to_another_rack) {
  initialize();
  cloud.machines[0].zone = "rack-8";
  cloud.machines[0].labels = {{"rack", "8"}};
  pass(6min);
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), "rack-8");
  EXPECT_EQ(at("node1", "/metadata/labels/rack"), "8");
  EXPECT_EQ(at("node1", "/metadata/annotations/isthmus.dev~1managed-labels"), "rack");
  EXPECT_EQ(since(), 1U);
  cloud.machines[0].labels.clear();
  pass(6min);
  EXPECT_TRUE(at("node1", "/metadata/labels/rack").is_null());
  EXPECT_EQ(since(), 2U);
}

TEST_F(node_member, follows_its_machine_to_another_address) {
  initialize();
  cloud.machines[0].addresses = {{cloud::AddressType::internal_ip, "10.9.9.9"}};
  cloud.machines[0].zone = "rack-8";
  pass(6min);
  EXPECT_EQ(at("node1", "/status/addresses/0/address"), "10.9.9.9");
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), "rack-8");
  EXPECT_EQ(since(), 2U);
}

TEST_F(node_member, gets_back_at_once_what_somebody_took) {
  initialize();
  change("node1", [](json::value& node) {
    node.at_pointer("/metadata/labels").as_object().erase("topology.kubernetes.io/zone");
  });
  pass(1s);
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), "rack-7");
}

// Two who both put it right would never rest.
TEST_F(node_member, does_not_fight_over_a_label_and_says_who_the_other_is) {
  initialize();
  unsigned ours = 0;
  for (int i = 0; i < 100; ++i) {
    const bool is_ours = at("node1", "/metadata/labels/topology.kubernetes.io~1zone") == "rack-7";
    if (is_ours) ++ours;
    change("node1", [](json::value& node) {
      json::object& meta = node.at_pointer("/metadata").as_object();
      meta["labels"].as_object()["topology.kubernetes.io/zone"] = "theirs";
      meta["managedFields"] = parse_json(R"([{"manager": "other-ccm", "operation": "Update",
          "time": "2026-11-30T07:20:00Z", "fieldsV1": {"f:metadata": {"f:labels":
          {"f:topology.kubernetes.io/zone": {}}}}}])")
                                  .value();
    });
    pass(1s);
  }
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), "theirs");
  EXPECT_EQ(ours, 4U) << "once initialized, and three times put right";
  EXPECT_EQ(events.count("FieldContested"), 1U);
  EXPECT_THAT(events.lines,
              Contains(AllOf(HasSubstr("metadata.labels[topology.kubernetes.io/zone]"),
                             HasSubstr("last by \"other-ccm\""))));
}

TEST_F(node_member, follows_its_machine_in_everything_that_is_not_disputed) {
  initialize();
  for (int i = 0; i < 10; ++i) {
    change("node1", [](json::value& node) {
      node.at_pointer("/metadata/labels").as_object().erase("topology.kubernetes.io/zone");
    });
    pass(1s);
  }
  cloud.machines[0].addresses = {{cloud::AddressType::internal_ip, "10.9.9.9"}};
  pass(6min);
  EXPECT_EQ(at("node1", "/status/addresses/0/address"), "10.9.9.9");
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), nullptr);
  pass(1h);
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), "rack-7")
      << "one more try";
}

TEST_F(node_member, is_not_looked_at_for_a_heartbeat) {
  initialize();
  const std::string before = syncs();
  for (int i = 0; i < 100; ++i) {
    change("node1", [&](json::value& node) {
      node.at_pointer("/status").as_object()["conditions"] = {
          {{"type", "Ready"}, {"status", i % 2 ? "True" : "False"}}};
    });
    pass(10ms);
  }
  EXPECT_EQ(syncs(), before);
  change("node1", [](json::value& node) {
    node.at_pointer("/metadata/labels").as_object()["team"] = "blue";
  });
  pass(1s);
  EXPECT_NE(syncs(), before);
}

TEST_F(node_member, keeps_what_it_has_when_its_machine_is_gone_and_says_so_once) {
  initialize();
  cloud.remove("1");
  pass(1h);
  EXPECT_EQ(since(), 0U);
  EXPECT_EQ(at("node1", "/spec/providerID"), "isthmus://1");
  EXPECT_THAT(events.lines,
              ElementsAre(HasSubstr("Synced"),
                          "Warning FailedToRefresh node1: there is no machine with providerID "
                          "isthmus://1"));
}

TEST_F(node_member, keeps_following_its_machine_though_another_node_names_it) {
  initialize();
  pass(1s);
  register_node("intruder", "", R"(, "providerID": "isthmus://1")");
  cloud.machines[0].zone = "rack-8";
  pass(10min);
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), "rack-8");
  EXPECT_EQ(at("intruder", "/metadata/labels/topology.kubernetes.io~1zone"), nullptr);
  EXPECT_THAT(events.lines,
              ElementsAre(HasSubstr("Synced"),
                          HasSubstr("FailedToRefresh intruder: machine node1 (isthmus://1) belongs "
                                    "to Node node1 already")));
}

TEST_F(node_member, outlasts_an_outage_of_the_cloud_without_a_word) {
  initialize();
  cloud.faults.error = Error{Outcome::lost, "cut"};
  pass(1h);
  EXPECT_EQ(events.lines.size(), 1U);
  cloud.faults.error.reset();
  cloud.machines[0].zone = "rack-8";
  pass(3min);
  EXPECT_EQ(at("node1", "/metadata/labels/topology.kubernetes.io~1zone"), "rack-8");
}

TEST_F(node_member, of_somebody_else_is_never_written_and_explained_once) {
  register_node("theirs", kTaint, R"(, "providerID": "aws:///eu/i-1")");
  register_node("nobodys", R"({"key": "other", "effect": "NoExecute"})");
  add_machine("1", "theirs");
  add_machine("2", "nobodys");
  start();
  pass(24h);
  EXPECT_EQ(patches(), 0U);
  EXPECT_EQ(cloud.gets + cloud.lists, 0U);
  EXPECT_EQ(events.lines.size(), 2U);
  EXPECT_EQ(events.count("Normal ForeignProviderID theirs: providerID aws:///eu/i-1 is not of "),
            1U);
  EXPECT_EQ(events.count("Normal NoProviderID nobodys: "), 1U);
}

TEST(node_change, matters_only_where_the_controller_looks) {
  const auto matters = [](void (*edit)(kube::Node& node)) {
    kube::Node before{.meta = {.key = {"", "n"}, .uid = "u"},
                      .taints = {{.key = std::string(kUninitializedTaint)}}};
    kube::Node after = before;
    edit(after);
    return node_change_matters({before.meta.key, std::make_shared<const kube::Node>(before),
                                std::make_shared<const kube::Node>(after)});
  };
  EXPECT_FALSE(matters([](kube::Node& node) { node.meta.resource_version = "8"; }));
  EXPECT_FALSE(matters([](kube::Node& node) { node.conditions = {{"Ready", "True"}}; }));
  EXPECT_FALSE(matters([](kube::Node& node) { node.unschedulable = true; }));
  EXPECT_FALSE(matters([](kube::Node& node) { node.taints.push_back({.key = "other"}); }));
  EXPECT_FALSE(matters([](kube::Node& node) { node.meta.annotations.set("other", "x"); }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.meta.uid = "v"; }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.taints.clear(); }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.provider_id = "isthmus://1"; }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.system_uuid = "x"; }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.addresses = {{"Hostname", "n"}}; }));
  EXPECT_TRUE(matters([](kube::Node& node) { node.meta.labels.set("rack", "7"); }));
  EXPECT_TRUE(matters([](kube::Node& node) {
    node.meta.annotations.set("alpha.kubernetes.io/provided-node-ip", "10.0.0.1");
  }));
}

}  // namespace
}  // namespace isthmus::controllers

#include "isthmus/controllers/node_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kType = "node.kubernetes.io/instance-type";
constexpr std::string_view kBetaType = "beta.kubernetes.io/instance-type";

struct node_labels : testing::Test {
  // Plans, and applies the plan to the Node.
  void apply() {
    change = {};
    skipped = plan_labels(node, machine, change);
    for (const auto& [key, value] : change.labels) node.meta.labels.set(key, value);
    for (const auto& key : change.removed_labels) node.meta.labels.erase(key);
    for (const auto& [key, value] : change.annotations) node.meta.annotations.set(key, value);
    for (const auto& key : change.removed_annotations) node.meta.annotations.erase(key);
  }
  std::string label(std::string_view key) {
    return std::string(node.meta.labels.find(key).value_or("(none)"));
  }
  std::string managed() {
    return std::string(node.meta.annotations.find(kManagedLabelsAnnotation).value_or("(none)"));
  }

  kube::Node node;
  cloud::Instance machine;
  kube::NodeChange change;
  std::vector<std::string> skipped;
};

TEST_F(node_labels, write_region_zone_and_type_under_both_keys) {
  machine.type = "r640";
  machine.zone = "rack-7";
  machine.region = "home";
  apply();
  EXPECT_EQ(label(kType), "r640");
  EXPECT_EQ(label(kBetaType), "r640");
  EXPECT_EQ(label("topology.kubernetes.io/zone"), "rack-7");
  EXPECT_EQ(label("failure-domain.beta.kubernetes.io/zone"), "rack-7");
  EXPECT_EQ(label("topology.kubernetes.io/region"), "home");
  EXPECT_EQ(label("failure-domain.beta.kubernetes.io/region"), "home");
  EXPECT_EQ(managed(), "(none)");
  apply();
  EXPECT_TRUE(change.empty());
}

TEST_F(node_labels, follow_the_cloud_where_it_says_something) {
  node.meta.labels = {{std::string(kType), "by hand"}};
  machine.type = "r640";
  apply();
  EXPECT_EQ(label(kType), "r640");
}

TEST_F(node_labels, let_the_general_key_lead_where_the_cloud_is_silent) {
  node.meta.labels = {{std::string(kType), "mine"}, {std::string(kBetaType), "old"}};
  apply();
  EXPECT_EQ(label(kType), "mine");
  EXPECT_EQ(label(kBetaType), "mine");
}

TEST_F(node_labels, take_over_a_beta_label_that_stands_alone) {
  node.meta.labels = {{std::string(kBetaType), "old"}};
  apply();
  EXPECT_EQ(label(kType), "old");
}

TEST_F(node_labels, keep_region_zone_and_type_when_the_cloud_falls_silent) {
  machine.type = "r640";
  apply();
  machine.type.clear();
  apply();
  EXPECT_TRUE(change.empty());
}

TEST_F(node_labels, add_change_and_remove_what_is_ours) {
  machine.labels = {{"rack", "7"}, {"example.org/unit", "u12"}};
  apply();
  EXPECT_EQ(managed(), "example.org/unit,rack");
  machine.labels = {{"rack", "8"}};
  apply();
  EXPECT_EQ(label("rack"), "8");
  EXPECT_EQ(label("example.org/unit"), "(none)");
  EXPECT_EQ(managed(), "rack");
  machine.labels.clear();
  apply();
  EXPECT_EQ(label("rack"), "(none)");
  EXPECT_EQ(managed(), "(none)");
  apply();
  EXPECT_TRUE(change.empty());
}

TEST_F(node_labels, never_touch_what_a_user_had_before_us) {
  node.meta.labels = {{"rack", "mine"}};
  machine.labels = {{"rack", "7"}};
  apply();
  EXPECT_EQ(label("rack"), "mine");
  EXPECT_EQ(managed(), "(none)");
  machine.labels.clear();
  apply();
  EXPECT_EQ(label("rack"), "mine");
}

TEST_F(node_labels, put_back_what_is_ours_when_somebody_changes_it) {
  machine.labels = {{"rack", "7"}};
  apply();
  node.meta.labels.set("rack", "9");
  apply();
  EXPECT_EQ(label("rack"), "7");
  node.meta.labels.erase("rack");
  apply();
  EXPECT_EQ(label("rack"), "7");
}

TEST_F(node_labels, refuse_the_keys_that_belong_to_kubernetes) {
  for (const std::string key : {"kubernetes.io/a", "k8s.io/a", "a.kubernetes.io/b", "x.k8s.io/y"}) {
    machine.labels = {{key, "v"}};
    apply();
    EXPECT_THAT(skipped, ElementsAre(HasSubstr("reserved for Kubernetes"))) << key;
  }
  for (const std::string key : {"k8snio/x", "app.k8snio/x", "my-k8s.io/x", "kubernetes.io"}) {
    machine.labels = {{key, "v"}};
    apply();
    EXPECT_THAT(skipped, IsEmpty()) << key;
  }
}

TEST_F(node_labels, skip_what_the_api_server_would_refuse) {
  machine.zone = "rack 7";
  machine.labels = {{"-rack", "7"}, {"unit", std::string(64, 'x')}, {"empty", ""}};
  apply();
  EXPECT_EQ(skipped.size(), 3U);
  EXPECT_EQ(label("empty"), "");
  EXPECT_EQ(label("topology.kubernetes.io/zone"), "(none)");
}

TEST_F(node_labels, do_not_let_the_annotation_remove_a_label_of_kubernetes) {
  node.meta.labels = {{"kubernetes.io/hostname", "node1"}};
  node.meta.annotations = {{std::string(kManagedLabelsAnnotation), "kubernetes.io/hostname"}};
  apply();
  EXPECT_EQ(label("kubernetes.io/hostname"), "node1");
}

}  // namespace
}  // namespace isthmus::controllers

#include "isthmus/controllers/node_subject.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/node.h"

namespace isthmus::controllers {
namespace {

using ::testing::HasSubstr;

kube::Node node_with(std::string_view json) {
  kube::Decoder decoder(node_projection());
  std::string text =
      R"({"apiVersion": "v1", "kind": "Node",
          "metadata": {"name": "n", "uid": "u-1", "resourceVersion": "1")" +
      std::string(json);
  return decoder.object<kube::Node>(text, {"", "n"}).value();
}

TEST(node_subject, is_a_node_as_far_as_its_deletion_goes) {
  const cloud::Subject subject = subject_of(node_with(
      R"(, "creationTimestamp": "2026-11-30T00:00:00Z",
         "labels": {"topology.kubernetes.io/zone": "rack-7",
                    "failure-domain.beta.kubernetes.io/zone": "old",
                    "node-role.kubernetes.io/control-plane": ""}},
         "spec": {"providerID": "isthmus://1"},
         "status": {"conditions": [{"type": "Ready", "status": "True"}]}})"));
  EXPECT_EQ(subject, (cloud::Subject{.uid = "u-1",
                                     .name = "n",
                                     .provider_id = "isthmus://1",
                                     .zone = "rack-7",
                                     .control_plane = true,
                                     .ready = true,
                                     .created = *kube::parse_rfc3339("2026-11-30T00:00:00Z")}));
}

TEST(node_subject, is_not_ready_unless_it_says_so) {
  EXPECT_FALSE(is_ready(node_with("}}")));
  for (const std::string_view status : {"False", "Unknown", ""}) {
    EXPECT_FALSE(
        is_ready(node_with(R"(}, "status": {"conditions": [{"type": "Ready", "status": ")" +
                           std::string(status) + R"("}]}})")));
  }
}

TEST(node_subject, knows_by_what_a_removal_is_announced) {
  for (const std::string_view taint :
       {"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"}) {
    EXPECT_TRUE(subject_of(node_with(R"(}, "spec": {"taints": [{"key": ")" + std::string(taint) +
                                     R"(", "effect": "NoSchedule"}]}})"))
                    .announced)
        << taint;
  }
  const std::string annotated =
      R"(, "annotations": {"isthmus.dev/node-removal-announced": "true"}})";
  EXPECT_FALSE(subject_of(node_with(annotated + "}")).announced) << "it is not cordoned";
  EXPECT_TRUE(subject_of(node_with(annotated + R"(, "spec": {"unschedulable": true}})")).announced);
  EXPECT_FALSE(subject_of(node_with(R"(}, "spec": {"unschedulable": true}})")).announced);
}

TEST(node_subject, is_protected_by_every_word_but_false) {
  for (const auto& [value, is_protected] : {std::pair("true", true), std::pair("", true),
                                            std::pair("yes", true), std::pair("false", false)}) {
    EXPECT_EQ(subject_of(node_with(R"(, "annotations": {"isthmus.dev/node-protect": ")" +
                                   std::string(value) + R"("}}})"))
                  .is_protected,
              is_protected)
        << value;
  }
}

TEST(node_subject, is_confirmed_gone_only_by_its_own_uid_and_a_time) {
  const auto with = [](std::string_view value) {
    return node_with(R"(, "annotations": {"isthmus.dev/node-confirmed-gone": ")" +
                     std::string(value) + R"("}}})");
  };
  const kube::Node good = with("u-1@2026-11-30T12:00:00Z");
  EXPECT_EQ(subject_of(good).confirmed_gone_until, kube::parse_rfc3339("2026-11-30T12:00:00Z"));
  EXPECT_EQ(complaint_about(good), std::nullopt);
  for (const std::string_view value :
       {"u-2@2026-11-30T12:00:00Z", "u-1", "true", "u-1@", "u-1@noon", "@2026-11-30T12:00:00Z"}) {
    const kube::Node bad = with(value);
    EXPECT_EQ(subject_of(bad).confirmed_gone_until, std::nullopt) << value;
    ASSERT_TRUE(complaint_about(bad)) << value;
    EXPECT_THAT(*complaint_about(bad), HasSubstr("isthmus.dev/node-confirmed-gone"));
  }
  EXPECT_EQ(complaint_about(node_with("}}")), std::nullopt);
}

}  // namespace
}  // namespace isthmus::controllers

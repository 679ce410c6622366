#include "isthmus/controllers/lifecycle_outlook.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

const Moment kNow = Moment(std::chrono::hours(5));
const LifecyclePlanOptions kOptions{.scheme = "isthmus"};

kube::Node node(std::string ready, bool has_taint = false) {
  kube::Node node{.meta = {.key = {.name = "n1"}, .uid = "u1"},
                  .provider_id = "isthmus://m1",
                  .conditions = {{"Ready", std::move(ready), ""}}};
  if (has_taint) {
    node.taints = {{.key = std::string(kShutdownTaint), .effect = "NoSchedule"}};
  }
  return node;
}

cloud::Instance machine(cloud::Power power, cloud::Presence presence = cloud::Presence::present) {
  return {.provider_id = {"isthmus", "m1"}, .power = power, .presence = presence};
}

TEST(lifecycle_outlook, a_stopped_machine_taints_its_node) {
  const cloud::Instance stopped = machine(cloud::Power::stopped);
  const auto outlook = lifecycle_outlook_of(node("Unknown"), &stopped, kOptions, kNow);
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->act, Act::taint);
  EXPECT_EQ(outlook->reason, "MachineStopped");
  EXPECT_EQ(outlook->details, (std::vector<std::string>{"taint " + std::string(kShutdownTaint)}));
  EXPECT_FALSE(lifecycle_outlook_of(node("Unknown", true), &stopped, kOptions, kNow));
}

TEST(lifecycle_outlook, a_machine_that_runs_again_frees_its_node) {
  const cloud::Instance running = machine(cloud::Power::running);
  const auto outlook = lifecycle_outlook_of(node("Unknown", true), &running, kOptions, kNow);
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->act, Act::taint);
  EXPECT_EQ(outlook->reason, "MachineRuns");
  EXPECT_EQ(outlook->details,
            (std::vector<std::string>{"no taint " + std::string(kShutdownTaint)}));
}

TEST(lifecycle_outlook, a_node_whose_machine_is_gone_is_not_deleted_on_one_answer) {
  const auto outlook = lifecycle_outlook_of(node("Unknown"), nullptr, kOptions, kNow);
  ASSERT_TRUE(outlook);
  EXPECT_EQ(outlook->act, Act::withhold);
  EXPECT_EQ(outlook->reason, "MachineGone");
  EXPECT_FALSE(is_to_do(*outlook));
  const cloud::Instance retired = machine(cloud::Power::unknown, cloud::Presence::absent);
  EXPECT_EQ(lifecycle_outlook_of(node("Unknown"), &retired, kOptions, kNow), outlook);
}

TEST(lifecycle_outlook, of_a_node_that_is_well_or_somebody_elses_nothing_is_said) {
  EXPECT_FALSE(lifecycle_outlook_of(node("True"), nullptr, kOptions, kNow));
  kube::Node theirs = node("Unknown");
  theirs.provider_id = "aws:///z/i-1";
  EXPECT_FALSE(lifecycle_outlook_of(theirs, nullptr, kOptions, kNow));
  const cloud::Instance unknown = machine(cloud::Power::unknown, cloud::Presence::unknown);
  EXPECT_FALSE(lifecycle_outlook_of(node("Unknown"), &unknown, kOptions, kNow));
}

}  // namespace
}  // namespace isthmus::controllers

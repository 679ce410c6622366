#include "isthmus/controllers/node_lifecycle_plan.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

class lifecycle_plan : public ::testing::Test {
 protected:
  lifecycle_plan() {
    node.meta.uid = "u";
    node.provider_id = "isthmus://1";
    facts.ready_changed_at = now - 30s;
    facts.report = MachineReport{.presence = cloud::Presence::present,
                                 .power = cloud::Power::running,
                                 .since = now - 5s,
                                 .asked_at = now};
  }
  void set_ready() { node.conditions = {{.type = "Ready", .status = "True"}}; }
  void set_taint(std::string_view key, std::string_view value = "",
                 std::string_view effect = "NoSchedule") {
    node.taints.push_back(
        {.key = std::string(key), .value = std::string(value), .effect = std::string(effect)});
  }
  std::string plan() const { return describe(plan_lifecycle(node, facts, verdict, options, now)); }

  const Moment now = Moment{} + 1h;
  kube::Node node;
  LifecycleFacts facts;
  cloud::Verdict verdict;
  LifecyclePlanOptions options{.scheme = "isthmus"};
};

TEST_F(lifecycle_plan, taints_what_is_shut_down_and_not_ready) {
  facts.report->power = cloud::Power::stopped;
  EXPECT_EQ(plan(),
            "change; taint node.cloudprovider.kubernetes.io/shutdown=:NoSchedule: the cloud says "
            "that its machine is shut down");
  set_taint(kShutdownTaint);
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
}

TEST_F(lifecycle_plan, taints_nothing_by_an_old_doubtful_or_missing_answer) {
  facts.report->power = cloud::Power::stopped;
  facts.report->asked_at = now - 61s;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts.report->asked_at = now;
  facts.report->presence = cloud::Presence::unknown;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts.report.reset();
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
}

TEST_F(lifecycle_plan, leaves_a_node_that_waits_for_its_first_initialization_untainted) {
  facts.report->power = cloud::Power::stopped;
  set_taint("node.cloudprovider.kubernetes.io/uninitialized", "true");
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
}

TEST_F(lifecycle_plan, removes_the_taint_when_the_machine_runs_ready_or_not) {
  set_taint(kShutdownTaint);
  const std::string removed =
      "change; no taint node.cloudprovider.kubernetes.io/shutdown: the cloud says that its machine "
      "runs";
  EXPECT_EQ(plan(), removed);
  set_ready();
  EXPECT_EQ(plan(), removed);
}

TEST_F(lifecycle_plan, believes_a_node_that_stays_ready_more_than_the_cloud) {
  set_taint(kShutdownTaint);
  set_ready();
  facts.report->power = cloud::Power::stopped;
  facts.ready_changed_at = now - 59s;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts.ready_changed_at = now - 60s;
  EXPECT_EQ(plan(),
            "change; no taint node.cloudprovider.kubernetes.io/shutdown: it has been Ready for a "
            "minute, so its machine runs");
}

TEST_F(lifecycle_plan, keeps_a_taint_of_the_same_key_that_is_not_ours) {
  set_taint(kShutdownTaint, "", "NoExecute");
  set_taint(kOutOfServiceTaint, "mine", "NoExecute");
  options.out_of_service = true;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
}

TEST_F(lifecycle_plan, gives_up_for_lost_only_what_was_off_and_silent_for_a_minute) {
  options.out_of_service = true;
  set_taint(kShutdownTaint);
  facts.report->power = cloud::Power::stopped;
  facts.report->since = now - 60s;
  facts.ready_changed_at = now - 60s;
  facts.silence = 60s;
  facts.believed_since = now - 60s;
  const LifecycleFacts enough = facts;
  EXPECT_EQ(plan(),
            "change; taint node.kubernetes.io/out-of-service=nodeshutdown:NoExecute: its machine "
            "has been shut down, and its kubelet silent, for a minute");
  facts.report->since = now - 59s;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts = enough;
  facts.ready_changed_at = now - 59s;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts = enough;
  facts.silence = 59s;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts.silence.reset();
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts = enough;
  facts.believed_since = now - 59s;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts.believed_since.reset();
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  facts = enough;
  options.out_of_service = false;
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
}

TEST_F(lifecycle_plan, takes_both_taints_back_when_the_machine_runs) {
  options.out_of_service = true;
  set_taint(kShutdownTaint);
  set_taint(kOutOfServiceTaint, kOutOfServiceValue, "NoExecute");
  EXPECT_EQ(plan(),
            "change; no taint node.cloudprovider.kubernetes.io/shutdown; no taint "
            "node.kubernetes.io/out-of-service: the cloud says that its machine runs");
}

TEST_F(lifecycle_plan, deletes_by_the_verdict_alone) {
  facts.report->presence = cloud::Presence::absent;
  verdict.standing = cloud::Standing::gone;
  verdict.unmet = {{cloud::Condition::age, "", ""}};
  EXPECT_EQ(plan(), "leave alone: it is as its machine is");
  verdict.unmet = {{cloud::Condition::live_read, "", ""}};
  EXPECT_EQ(plan(), "delete: its machine is gone") << "which begins with the live read";
  verdict = {.standing = cloud::Standing::deletable};
  EXPECT_EQ(plan(), "delete: its machine is gone");
  node.meta.deletion_time = WallTime{};
  EXPECT_EQ(plan(), "leave alone: it is being deleted");
}

TEST_F(lifecycle_plan, watches_only_nodes_of_ours_whose_machine_matters) {
  EXPECT_TRUE(is_watched(node, options));
  set_ready();
  EXPECT_FALSE(is_watched(node, options));
  set_taint(kShutdownTaint);
  EXPECT_TRUE(is_watched(node, options));
  node.taints = {{.key = std::string(kOutOfServiceTaint),
                  .value = std::string(kOutOfServiceValue),
                  .effect = "NoExecute"}};
  EXPECT_FALSE(is_watched(node, options)) << "without the flag it is not ours";
  options.out_of_service = true;
  EXPECT_TRUE(is_watched(node, options));
  for (const std::string_view id : {"", "1", "other://1"}) {
    node.provider_id = id;
    EXPECT_FALSE(is_watched(node, options)) << id;
  }
  node.provider_id = "isthmus://1";
  node.meta.deletion_time = WallTime{};
  EXPECT_FALSE(is_watched(node, options));
}

}  // namespace
}  // namespace isthmus::controllers

#include "isthmus/infra/target_set_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {
namespace {

const ObjectName kNodes{"prod", "nodes"};

// What is planned is what stands from then on.
class target_set_plan : public testing::Test {
 protected:
  TargetSetPlan put(const api::TargetSet& said, Preconditions preconditions = {}) {
    TargetSetPlan plan = plan_put(snapshot, said, preconditions, surroundings.circumstances(),
                                  "uid-" + std::to_string(++uids));
    commit(plan);
    return plan;
  }
  TargetSetPlan remove(const ObjectName& name, Preconditions preconditions = {}) {
    TargetSetPlan plan = plan_delete_target_set(snapshot, name, preconditions, at_second(0));
    commit(plan);
    return plan;
  }
  void commit(const TargetSetPlan& plan) {
    if (plan.problem || !plan.write) return;
    TargetSetRecord record = plan.record;
    record.set.metadata.revision = ++snapshot.revision;
    ObjectName name{record.set.metadata.owner, record.set.metadata.name};
    snapshot.target_sets[name] = std::make_shared<const TargetSetRecord>(std::move(record));
  }
  void add_user(const std::string& name) {
    api::LoadBalancer said = a_balancer_of_set({"prod", name}, "nodes");
    BalancerRecord record{said.metadata, said.spec, {}, std::nullopt};
    snapshot.balancers[{"prod", name}] = std::make_shared<const BalancerRecord>(std::move(record));
  }

  LedgerSnapshot snapshot;
  TestLedger surroundings;
  int uids = 0;
};

TEST_F(target_set_plan, a_new_one_has_a_uid_and_generation_1) {
  TargetSetPlan plan = put(a_set(kNodes));
  EXPECT_TRUE(plan.created);
  EXPECT_TRUE(plan.write);
  EXPECT_EQ(plan.record.set.metadata.uid, "uid-1");
  EXPECT_EQ(plan.record.set.metadata.generation, 1u);
}

TEST_F(target_set_plan, the_order_of_targets_and_addresses_means_nothing) {
  api::TargetSet said = a_set(kNodes, {"10.0.0.1", "10.0.0.2"});
  said.targets[0].addresses.push_back(ip("fd00::1"));
  put(said);
  std::ranges::reverse(said.targets[0].addresses);
  std::ranges::reverse(said.targets);
  TargetSetPlan again = put(said);
  EXPECT_FALSE(again.write);
  EXPECT_EQ(again.record.set.metadata.generation, 1u);
}

TEST_F(target_set_plan, a_drain_raises_the_generation_and_keeps_the_uid) {
  api::TargetSet said = a_set(kNodes);
  put(said);
  said.targets[0].drain = true;
  TargetSetPlan plan = put(said);
  EXPECT_TRUE(plan.write);
  EXPECT_FALSE(plan.created);
  EXPECT_EQ(plan.generation_before, 1u);
  EXPECT_EQ(plan.record.set.metadata.generation, 2u);
  EXPECT_EQ(plan.record.set.metadata.uid, "uid-1");
}

TEST_F(target_set_plan, preconditions_are_about_what_stands) {
  EXPECT_EQ(put(a_set(kNodes), {.revision = 1}).problem->suffix(), api::problem::revision_conflict);
  put(a_set(kNodes));
  EXPECT_EQ(put(a_set(kNodes), {.absent = true}).problem->suffix(),
            api::problem::revision_conflict);
  EXPECT_EQ(remove(kNodes, {.revision = 9}).problem->suffix(), api::problem::revision_conflict);
  EXPECT_FALSE(remove(kNodes, {.revision = 1}).problem);
}

TEST_F(target_set_plan, one_that_is_used_is_not_deleted_and_the_users_are_named) {
  put(a_set(kNodes));
  add_user("web");
  api::Problem problem = *remove(kNodes).problem;
  EXPECT_EQ(problem.suffix(), api::problem::target_set_in_use);
  EXPECT_EQ(problem.detail, "prod/nodes is used by the load balancer web; delete it first");
  for (std::string_view name : {"a", "b", "c", "d"}) add_user(std::string(name));
  EXPECT_EQ(remove(kNodes).problem->detail,
            "prod/nodes is used by the load balancers a, b, c and 2 more; delete them first");
}

TEST_F(target_set_plan, one_that_is_put_after_it_went_goes_on_with_its_generation) {
  put(a_set(kNodes));
  TargetSetPlan gone = remove(kNodes);
  EXPECT_TRUE(gone.record.deleted_at);
  EXPECT_TRUE(gone.record.set.targets.empty());
  EXPECT_EQ(gone.generation_before, 1u);
  EXPECT_EQ(remove(kNodes).problem->suffix(), api::problem::target_set_not_found);
  TargetSetPlan plan = put(a_set(kNodes));
  EXPECT_TRUE(plan.created);
  EXPECT_FALSE(plan.record.deleted_at);
  EXPECT_FALSE(plan.record.set.metadata.deletion_requested_at);
  EXPECT_EQ(plan.record.set.metadata.generation, 2u);
  EXPECT_EQ(plan.record.set.metadata.uid, "uid-2");
}

TEST_F(target_set_plan, a_protected_one_and_that_of_somebody_else_are_not_deleted) {
  api::TargetSet said = a_set(kNodes);
  said.metadata.deletion_protection = true;
  put(said);
  EXPECT_EQ(remove(kNodes).problem->suffix(), api::problem::deletion_protected);
  EXPECT_EQ(remove({"test", "nodes"}).problem->suffix(), api::problem::target_set_not_found);
}

TEST_F(target_set_plan, an_address_of_this_host_is_no_target) {
  surroundings.unusable = {{ip("10.0.0.2"), "this host has it itself, on eth0"}};
  api::Problem problem = *put(a_set(kNodes, {"10.0.0.1", "10.0.0.2"})).problem;
  EXPECT_EQ(problem.suffix(), api::problem::invalid_spec);
  ASSERT_EQ(problem.errors.size(), 1u);
  EXPECT_EQ(problem.errors[0].pointer, "/spec/targets/1/addresses/0");
}

TEST_F(target_set_plan, an_owner_has_so_many) {
  for (std::size_t i = 0; i < kTargetSetsPerOwnerMax; ++i) {
    put(a_set({"prod", "set-" + std::to_string(i)}));
  }
  EXPECT_EQ(put(a_set(kNodes)).problem->suffix(), api::problem::quota_exceeded);
  EXPECT_FALSE(put(a_set({"test", "nodes"})).problem);
}

TEST_F(target_set_plan, changes_are_those_that_the_writer_would_see) {
  api::TargetSet said = a_set(kNodes);
  const TargetSetRecord before = put(said).record;
  said.targets[0].weight = 5;
  const TargetSetRecord after = put(said).record;
  std::vector<api::PlannedChange> changes = changes_of(&before, after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].pointer, "/spec/targets/0/weight");
  EXPECT_EQ(changes[0].to, "5");
  EXPECT_FALSE(changes_of(nullptr, after).empty());
  EXPECT_FALSE(changes_of(&after, remove(kNodes).record).empty());
}

}  // namespace
}  // namespace isthmus::infra

#include "isthmus/infra/balancer_plan.h"

#include <gtest/gtest.h>

#include "isthmus/infra/ledger_testing.h"
#include "isthmus/infra/target_set_plan.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

// What is planned is what stands from then on.
class balancer_plan : public testing::Test {
 protected:
  balancer_plan() { ledger.add_pool("public", {"192.0.2.0/28"}); }

  BalancerPlan put(const api::LoadBalancer& said, Preconditions preconditions = {}) {
    BalancerPlan plan = plan_put(ledger.snapshot, said, preconditions, ledger.circumstances(),
                                 "uid-" + std::to_string(++uids), kernel_generation);
    commit(plan);
    return plan;
  }
  BalancerPlan remove(const ObjectName& name, Preconditions preconditions = {}) {
    BalancerPlan plan =
        plan_delete(ledger.snapshot, name, preconditions, ledger.now, kernel_generation);
    commit(plan);
    return plan;
  }
  void commit(const BalancerPlan& plan) {
    if (plan.problem || !plan.write) return;
    ledger.commit(plan.addresses);
    BalancerRecord record = plan.record;
    record.metadata.revision = ledger.snapshot.revision;
    ObjectName name{record.metadata.owner, record.metadata.name};
    ledger.snapshot.balancers[name] = std::make_shared<const BalancerRecord>(std::move(record));
  }
  void add_set(const ObjectName& name) {
    TargetSetRecord record{.set = a_set(name), .deleted_at = std::nullopt};
    ledger.snapshot.target_sets[name] = std::make_shared<const TargetSetRecord>(std::move(record));
  }

  TestLedger ledger;
  int uids = 0;
  std::uint64_t kernel_generation = 0;
};

TEST_F(balancer_plan, a_new_one_gets_an_address_a_uid_and_generation_1) {
  BalancerPlan plan = put(a_balancer(kWeb));
  ASSERT_FALSE(plan.problem);
  EXPECT_TRUE(plan.created);
  EXPECT_EQ(plan.generation_before, 0u);
  EXPECT_EQ(plan.record.metadata.uid, "uid-1");
  EXPECT_EQ(plan.record.metadata.generation, 1u);
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.0")});
  ASSERT_EQ(plan.addresses.size(), 1u);
  EXPECT_EQ(plan.addresses[0].holders, std::vector<std::string>{"web"});
}

TEST_F(balancer_plan, what_says_the_same_changes_nothing) {
  put(a_balancer(kWeb));
  BalancerPlan again = put(a_balancer(kWeb));
  EXPECT_FALSE(again.problem);
  EXPECT_FALSE(again.write);
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.record, *ledger.snapshot.balancer(kWeb));
}

TEST_F(balancer_plan, each_part_that_the_writer_says_raises_the_generation) {
  api::LoadBalancer said = a_balancer(kWeb);
  put(said);
  said.metadata.labels["app.example/tier"] = "front";
  EXPECT_EQ(put(said).record.metadata.generation, 2u);
  said.metadata.deletion_protection = true;
  EXPECT_EQ(put(said).record.metadata.generation, 3u);
  said.spec.target_groups[0].targets[0].weight = 2;
  BalancerPlan plan = put(said);
  EXPECT_EQ(plan.record.metadata.generation, 4u);
  EXPECT_EQ(plan.generation_before, 3u);
  EXPECT_EQ(plan.record.metadata.uid, "uid-1");
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.0")});
  EXPECT_TRUE(plan.addresses.empty());
}

TEST_F(balancer_plan, what_the_server_owns_is_not_taken_from_the_body) {
  api::LoadBalancer said = a_balancer(kWeb);
  said.metadata.uid = "mine";
  said.metadata.generation = 99;
  said.metadata.deletion_requested_at = ledger.now;
  BalancerPlan plan = put(said);
  EXPECT_EQ(plan.record.metadata.uid, "uid-1");
  EXPECT_EQ(plan.record.metadata.generation, 1u);
  EXPECT_FALSE(plan.record.is_leaving());
}

TEST_F(balancer_plan, preconditions_are_about_what_stands) {
  EXPECT_EQ(put(a_balancer(kWeb), {.exists = true}).problem->suffix(),
            api::problem::revision_conflict);
  EXPECT_FALSE(put(a_balancer(kWeb), {.absent = true}).problem);
  EXPECT_EQ(put(a_balancer(kWeb), {.absent = true}).problem->suffix(),
            api::problem::revision_conflict);
  const Revision revision = ledger.snapshot.balancer(kWeb)->metadata.revision;
  EXPECT_EQ(put(a_balancer(kWeb, {81}), {.revision = revision + 1}).problem->suffix(),
            api::problem::revision_conflict);
  EXPECT_FALSE(put(a_balancer(kWeb, {81}), {.revision = revision}).problem);
  EXPECT_EQ(remove(kWeb, {.revision = revision}).problem->suffix(),
            api::problem::revision_conflict);
}

TEST_F(balancer_plan, the_allocators_problem_is_the_plans) {
  api::LoadBalancer said = a_balancer(kWeb);
  said.spec.pool = "private";
  EXPECT_EQ(put(said).problem->suffix(), api::problem::invalid_spec);
}

TEST_F(balancer_plan, target_sets_that_are_not_there_are_named_each_at_its_place) {
  add_set({"prod", "nodes"});
  add_set({"test", "theirs"});
  api::LoadBalancer said = a_balancer_of_set(kWeb, "nodes");
  said.spec.target_groups.push_back({"b", "missing", 80, {}, std::nullopt});
  said.spec.target_groups.push_back({"c", "theirs", 80, {}, std::nullopt});
  api::Problem problem = *put(said).problem;
  EXPECT_EQ(problem.suffix(), api::problem::invalid_spec);
  ASSERT_EQ(problem.errors.size(), 2u);
  EXPECT_EQ(problem.errors[0].pointer, "/spec/targetGroups/1/targetSet");
  EXPECT_EQ(problem.errors[0].detail, "prod has no target set missing; put it first");
  EXPECT_EQ(problem.errors[1].pointer, "/spec/targetGroups/2/targetSet");
}

TEST_F(balancer_plan, an_address_of_a_pool_is_no_target_but_what_stands_may_be_put_again) {
  api::LoadBalancer said = a_balancer(kWeb);
  said.spec.target_groups[0].targets[0].address = ip("192.0.2.7");
  api::Problem problem = *put(said).problem;
  EXPECT_EQ(problem.suffix(), api::problem::invalid_spec);
  ASSERT_EQ(problem.errors.size(), 1u);
  EXPECT_EQ(problem.errors[0].pointer, "/spec/targetGroups/0/targets/0/address");

  put(a_balancer(kWeb));
  ledger.add_pool("machines", {"10.0.0.0/24"}, false);
  EXPECT_FALSE(put(a_balancer(kWeb)).problem);
  EXPECT_TRUE(put(a_balancer(kWeb, {81})).problem);
}

TEST_F(balancer_plan, a_deletion_is_requested_once_and_the_address_stays_meanwhile) {
  put(a_balancer(kWeb));
  BalancerPlan plan = remove(kWeb);
  EXPECT_TRUE(plan.write);
  EXPECT_TRUE(plan.record.is_leaving());
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.0")});
  ledger.now += 1min;
  BalancerPlan again = remove(kWeb);
  EXPECT_FALSE(again.problem);
  EXPECT_FALSE(again.write);
  EXPECT_EQ(again.record.metadata.deletion_requested_at, ledger.now - 1min);
}

TEST_F(balancer_plan, what_never_was_or_is_gone_cannot_be_deleted) {
  EXPECT_EQ(remove(kWeb).problem->suffix(), api::problem::load_balancer_not_found);
  put(a_balancer(kWeb));
  EXPECT_EQ(remove({"test", "web"}).problem->suffix(), api::problem::load_balancer_not_found);
  remove(kWeb);
  ledger.finalize(kWeb);
  EXPECT_EQ(remove(kWeb).problem->suffix(), api::problem::load_balancer_not_found);
}

TEST_F(balancer_plan, a_protected_one_is_not_deleted) {
  api::LoadBalancer said = a_balancer(kWeb);
  said.metadata.deletion_protection = true;
  put(said);
  EXPECT_EQ(remove(kWeb).problem->suffix(), api::problem::deletion_protected);
  said.metadata.deletion_protection = false;
  put(said);
  EXPECT_TRUE(remove(kWeb).write);
}

TEST_F(balancer_plan, one_that_is_put_while_it_leaves_stays_with_its_address_and_a_new_uid) {
  put(a_balancer(kWeb));
  remove(kWeb);
  BalancerPlan plan = put(a_balancer(kWeb));
  EXPECT_TRUE(plan.write);
  EXPECT_FALSE(plan.created);
  EXPECT_FALSE(plan.record.is_leaving());
  EXPECT_EQ(plan.record.metadata.uid, "uid-2");
  EXPECT_EQ(plan.record.metadata.generation, 2u);
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.0")});
}

TEST_F(balancer_plan, one_that_is_put_after_it_went_has_its_address_back_while_that_cools_down) {
  put(a_balancer(kWeb));
  put(a_balancer({"prod", "api"}));
  remove({"prod", "api"});
  ledger.finalize({"prod", "api"});
  remove(kWeb);
  ledger.finalize(kWeb);
  BalancerPlan plan = put(a_balancer({"prod", "api"}));
  EXPECT_TRUE(plan.created);
  EXPECT_EQ(plan.generation_before, 0u);
  EXPECT_EQ(plan.record.metadata.generation, 2u);
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.1")});
  EXPECT_FALSE(plan.record.is_tombstone());
}

TEST_F(balancer_plan, an_orphan_is_adopted_with_its_address_and_above_its_generation) {
  ledger.orphans[kWeb] = {.generation = 7, .addresses = {ip("192.0.2.9")}};
  BalancerPlan plan = put(a_balancer(kWeb));
  EXPECT_TRUE(plan.created);
  EXPECT_EQ(plan.record.metadata.generation, 8u);
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.9")});
}

TEST_F(balancer_plan, where_the_kernel_is_ahead_of_an_old_store_the_same_spec_is_written_again) {
  put(a_balancer(kWeb));
  ledger.orphans[kWeb] = {.generation = 7, .addresses = {ip("192.0.2.0")}};
  BalancerPlan plan = put(a_balancer(kWeb));
  EXPECT_TRUE(plan.write);
  EXPECT_EQ(plan.record.metadata.generation, 8u);
  EXPECT_EQ(plan.record.metadata.uid, "uid-1");
}

TEST_F(balancer_plan, generations_go_on_above_what_the_kernel_was_seen_to_hold) {
  put(a_balancer(kWeb));
  kernel_generation = 5;
  EXPECT_EQ(put(a_balancer(kWeb, {81})).record.metadata.generation, 6u);
  EXPECT_EQ(put(a_balancer(kWeb, {82})).record.metadata.generation, 7u);
  kernel_generation = 9;
  EXPECT_EQ(remove(kWeb).record.metadata.generation, 9u);
}

TEST_F(balancer_plan, an_owner_has_so_many_and_others_do_not_count) {
  for (std::size_t i = 0; i < kBalancersPerOwnerMax; ++i) {
    api::LoadBalancer said = a_balancer({"prod", "lb-" + std::to_string(i)});
    BalancerRecord record{said.metadata, said.spec, {}, std::nullopt};
    ledger.snapshot.balancers[{"prod", said.metadata.name}] =
        std::make_shared<const BalancerRecord>(std::move(record));
  }
  EXPECT_EQ(put(a_balancer(kWeb)).problem->suffix(), api::problem::quota_exceeded);
  EXPECT_FALSE(put(a_balancer({"test", "web"})).problem);
  EXPECT_FALSE(put(a_balancer({"prod", "lb-7"}, {81})).problem);
}

TEST_F(balancer_plan, changes_are_those_that_the_writer_would_see) {
  api::LoadBalancer said = a_balancer(kWeb);
  put(said);
  const BalancerRecord before = *ledger.snapshot.balancer(kWeb);
  EXPECT_TRUE(changes_of(&before, before).empty());
  said.spec.listeners[0].port = 81;
  const BalancerRecord after = put(said).record;
  EXPECT_EQ(changes_of(&before, after),
            (std::vector<api::PlannedChange>{{"/spec/listeners/0/port", "80", "81"}}));
  const api::PlannedChange requested{"/metadata/deletionRequestedAt", "",
                                     "\"" + rfc3339(ledger.now) + "\""};
  EXPECT_EQ(changes_of(&after, remove(kWeb).record), std::vector{requested});
}

TEST_F(balancer_plan, the_changes_of_a_new_one_name_the_address_it_would_get) {
  std::vector<api::PlannedChange> changes = changes_of(nullptr, put(a_balancer(kWeb)).record);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.back(), (api::PlannedChange{"/status", "", R"({"addresses":["192.0.2.0"]})"}));
}

}  // namespace
}  // namespace isthmus::infra

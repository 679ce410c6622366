#include "isthmus/infra/ledger.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/ledger_testing.h"
#include "isthmus/infra/ledger_upkeep.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

const ObjectName kApi{"prod", "api"};
const ObjectName kNodes{"prod", "nodes"};

class ledger : public testing::Test {
 protected:
  ledger() {
    ours.found_in_kernel({}, {});
    load({a_pool("public", {"192.0.2.0/28"})});
    ours.changed().clear();
  }

  BalancerPlan put(api::LoadBalancer said, bool dry_run = false) {
    return world.run(ours.put(std::move(said), {}, nullptr, dry_run)).value();
  }
  BalancerPlan remove(const ObjectName& name, bool dry_run = false) {
    return world.run(ours.remove(name, {}, dry_run)).value();
  }
  TargetSetPlan put(api::TargetSet said, bool dry_run = false) {
    return world.run(ours.put(std::move(said), {}, dry_run)).value();
  }
  std::vector<std::string> load(std::vector<api::Pool> pools) {
    return world.run(ours.load_pools(std::move(pools))).value();
  }
  void finalize(std::vector<ObjectName> names) {
    ASSERT_TRUE(world.run(ours.finalize(std::move(names))));
  }
  void report(const ObjectName& name, std::uint64_t repairs) {
    api::LoadBalancerStatus status;
    status.repairs = repairs;
    ASSERT_TRUE(world.run(ours.report({{name, status}})));
  }
  Ledger::Snapshot latest() { return world.run(ours.latest()).value(); }

  VirtualWorld world;
  SeededRandom random{1};
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  Ledger ours{*store, world.loop, random, "lb1"};
};

TEST_F(ledger, what_was_put_is_there_with_its_address_in_one_commit) {
  const Revision before = latest()->revision;
  BalancerPlan plan = put(a_balancer(kWeb));
  ASSERT_FALSE(plan.problem);
  EXPECT_EQ(plan.record.metadata.revision, before + 1);
  EXPECT_EQ(plan.addresses[0].revision, before + 1);
  EXPECT_EQ(latest()->revision, before + 1);
  EXPECT_EQ(*latest()->balancer(kWeb), plan.record);
  EXPECT_EQ(*latest()->address(ip("192.0.2.0")), plan.addresses[0]);
  EXPECT_EQ(latest()->address(ip("192.0.2.0"))->host, "lb1");
  EXPECT_TRUE(ours.changed().is_set());
}

TEST_F(ledger, every_uid_is_new) {
  EXPECT_NE(put(a_balancer(kWeb)).record.metadata.uid, put(a_balancer(kApi)).record.metadata.uid);
}

TEST_F(ledger, what_changes_nothing_is_not_written_and_wakes_nobody) {
  put(a_balancer(kWeb));
  put(a_set(kNodes));
  ours.changed().clear();
  const Revision before = latest()->revision;
  EXPECT_FALSE(put(a_balancer(kWeb)).write);
  EXPECT_FALSE(put(a_set(kNodes)).write);
  EXPECT_TRUE(load({a_pool("public", {"192.0.2.0/28"})}).empty());
  EXPECT_EQ(latest()->revision, before);
  EXPECT_FALSE(ours.changed().is_set());
}

TEST_F(ledger, a_dry_run_says_what_would_change_and_changes_nothing) {
  const Revision before = latest()->revision;
  BalancerPlan plan = put(a_balancer(kWeb), true);
  EXPECT_TRUE(plan.created);
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.0")});
  EXPECT_FALSE(plan.changes.empty());
  EXPECT_FALSE(put(a_set(kNodes), true).changes.empty());
  EXPECT_EQ(latest()->revision, before);
  EXPECT_FALSE(ours.changed().is_set());

  put(a_balancer(kWeb));
  EXPECT_EQ(put(a_balancer(kWeb, {80, 81}), true).changes.size(), 1u);
  EXPECT_EQ(remove(kWeb, true).changes.size(), 1u);
  EXPECT_FALSE(latest()->balancer(kWeb)->is_leaving());
}

TEST_F(ledger, a_deleted_one_is_held_until_the_host_let_it_go_and_then_cools_down) {
  put(a_balancer(kWeb));
  report(kWeb, 1);
  EXPECT_TRUE(remove(kWeb).record.is_leaving());
  finalize({kWeb});
  EXPECT_EQ(latest()->balancer(kWeb), nullptr);
  EXPECT_TRUE(latest()->balancers.look_up(kWeb)->is_tombstone());
  EXPECT_EQ(latest()->status(kWeb), nullptr);
  EXPECT_TRUE(latest()->address(ip("192.0.2.0"))->is_cooling(world.loop.wall_now()));

  EXPECT_EQ(put(a_balancer(kApi)).record.addresses, std::vector{ip("192.0.2.1")});
  BalancerPlan revived = put(a_balancer(kWeb));
  EXPECT_EQ(revived.record.addresses, std::vector{ip("192.0.2.0")});
  EXPECT_EQ(revived.record.metadata.generation, 2u);
}

TEST_F(ledger, one_that_was_put_again_meanwhile_is_not_finalized) {
  put(a_balancer(kWeb));
  remove(kWeb);
  put(a_balancer(kWeb));
  finalize({kWeb});
  EXPECT_FALSE(latest()->balancer(kWeb)->is_leaving());
  EXPECT_EQ(latest()->address(ip("192.0.2.0"))->holders, std::vector<std::string>{"web"});
}

TEST_F(ledger, many_are_finalized_in_several_commits) {
  load({a_pool("public", {"192.0.2.0/24"})});
  std::vector<ObjectName> names;
  for (std::size_t i = 0; i < kFinalizedPerCommit * 2 + 1; ++i) {
    names.push_back({"prod", "lb-" + std::to_string(i)});
    put(a_balancer(names.back()));
    remove(names.back());
  }
  const Revision before = latest()->revision;
  finalize(names);
  EXPECT_EQ(latest()->revision, before + 3);
  for (const ObjectName& name : names) EXPECT_EQ(latest()->balancer(name), nullptr);
}

TEST_F(ledger, a_target_set_is_put_used_and_deleted) {
  EXPECT_EQ(put(a_balancer_of_set(kWeb, "nodes")).problem->suffix(), api::problem::invalid_spec);
  TargetSetPlan plan = put(a_set(kNodes));
  EXPECT_EQ(*latest()->target_set(kNodes), plan.record);
  EXPECT_FALSE(put(a_balancer_of_set(kWeb, "nodes")).problem);
  EXPECT_EQ(world.run(ours.remove_target_set(kNodes, {}, false)).value().problem->suffix(),
            api::problem::target_set_in_use);
  remove(kWeb);
  finalize({kWeb});
  EXPECT_FALSE(world.run(ours.remove_target_set(kNodes, {}, false)).value().problem);
  EXPECT_EQ(latest()->target_set(kNodes), nullptr);
}

TEST_F(ledger, what_is_too_large_for_the_store_is_a_wrong_spec) {
  api::TargetSet said = a_set(kNodes, {});
  for (int i = 0; i < 5000; ++i) {
    said.targets.push_back({.name = std::to_string(i) + std::string(100, 'x'), .addresses = {}});
    said.targets.back().addresses = {ip("10.0.0.1")};
  }
  api::Problem problem = *put(said).problem;
  EXPECT_EQ(problem.suffix(), api::problem::invalid_spec);
  EXPECT_EQ(problem.errors[0].pointer, "/spec");
  EXPECT_EQ(latest()->target_set(kNodes), nullptr);
}

TEST_F(ledger, whatever_was_put_can_be_deleted_however_large_it_is) {
  auto a_balancer_of = [](std::size_t key_bytes) {
    api::LoadBalancer balancer = a_balancer(kWeb);
    balancer.spec.sharing_key = std::string(key_bytes, 'x');
    return balancer;
  };
  std::size_t fits = 0;
  std::size_t too_much = kValueBytesMax;
  while (fits + 1 < too_much) {
    const std::size_t middle = (fits + too_much) / 2;
    (put(a_balancer_of(middle), true).problem ? too_much : fits) = middle;
  }
  put(a_balancer_of(fits));
  EXPECT_FALSE(remove(kWeb).problem);
  finalize({kWeb});
  EXPECT_EQ(latest()->balancer(kWeb), nullptr);
}

TEST_F(ledger, nothing_is_allocated_before_the_kernel_was_looked_at) {
  Ledger fresh(*store, world.loop, random, "lb1");
  Result<BalancerPlan> early = world.run(fresh.put(a_balancer(kWeb), {}, nullptr, false));
  EXPECT_EQ(early.outcome(), Outcome::busy);
  EXPECT_GT(early.error().retry_after, 0s);
  EXPECT_EQ(world.run(fresh.remove(kWeb, {}, false)).outcome(), Outcome::busy);
  EXPECT_TRUE(world.run(fresh.put(a_set(kNodes), {}, false)));
  fresh.found_in_kernel({}, {});
  EXPECT_TRUE(world.run(fresh.put(a_balancer(kWeb), {}, nullptr, false)));

  Ledger without_host(*store, world.loop, random, "");
  EXPECT_TRUE(world.run(without_host.put(a_balancer(kApi), {}, nullptr, false)));
}

TEST_F(ledger, an_orphan_keeps_its_address_until_its_owner_puts_it_again) {
  ours.found_in_kernel({{kWeb, {.generation = 7, .addresses = {ip("192.0.2.0")}}}}, {});
  EXPECT_EQ(put(a_balancer(kApi)).record.addresses, std::vector{ip("192.0.2.1")});
  ASSERT_EQ(ours.orphans().size(), 1u);
  BalancerPlan plan = put(a_balancer(kWeb), true);
  EXPECT_EQ(ours.orphans().size(), 1u);
  plan = put(a_balancer(kWeb));
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.0")});
  EXPECT_EQ(plan.record.metadata.generation, 8u);
  EXPECT_TRUE(ours.orphans().empty());
}

TEST_F(ledger, an_orphan_is_abandoned_only_by_name_and_until_it_is_gone) {
  const Orphan orphan{.generation = 7, .addresses = {ip("192.0.2.0")}};
  ours.found_in_kernel({{kWeb, orphan}, {kApi, orphan}}, {});
  EXPECT_EQ(ours.abandon({"test", "web"}).outcome(), Outcome::absent);
  ours.changed().clear();
  EXPECT_TRUE(ours.abandon(kWeb));
  EXPECT_TRUE(ours.changed().is_set());
  EXPECT_EQ(ours.abandoned(), std::set<ObjectName>{kWeb});
  ours.found_in_kernel({{kWeb, orphan}}, {});
  EXPECT_EQ(ours.abandoned(), std::set<ObjectName>{kWeb});
  ours.found_in_kernel({}, {});
  EXPECT_TRUE(ours.abandoned().empty());
}

TEST_F(ledger, an_orphan_whose_owner_deletes_it_is_abandoned_and_there_until_the_kernel_has_none) {
  ours.found_in_kernel({{kWeb, {.generation = 7, .addresses = {ip("192.0.2.0")}}}}, {});
  const auto status_of_removal = [this](Preconditions preconditions, bool dry_run) {
    const Result<BalancerPlan> plan = world.run(ours.remove(kWeb, preconditions, dry_run));
    return plan && plan->problem ? plan->problem->status : 0;
  };
  EXPECT_EQ(status_of_removal({}, true), 503);
  EXPECT_EQ(status_of_removal({.exists = true}, false), 412);
  EXPECT_EQ(status_of_removal({.revision = 5}, false), 412);
  EXPECT_TRUE(ours.abandoned().empty());
  EXPECT_EQ(status_of_removal({}, false), 503);
  EXPECT_EQ(ours.abandoned(), std::set<ObjectName>{kWeb});
  ours.found_in_kernel({}, {});
  EXPECT_EQ(status_of_removal({}, false), 404);
}

TEST_F(ledger, an_abandoned_orphan_that_is_put_again_stays) {
  ours.found_in_kernel({{kWeb, {.generation = 7, .addresses = {ip("192.0.2.0")}}}}, {});
  ASSERT_TRUE(ours.abandon(kWeb));
  put(a_balancer(kWeb));
  EXPECT_TRUE(ours.abandoned().empty());
}

TEST_F(ledger, generations_go_on_above_the_kernels_highest) {
  put(a_balancer(kWeb));
  ours.found_in_kernel({}, {{kWeb, 9}});
  ours.found_in_kernel({}, {{kWeb, 4}});
  EXPECT_EQ(put(a_balancer(kWeb, {81})).record.metadata.generation, 10u);
}

TEST_F(ledger, addresses_that_nobody_can_have_are_not_given) {
  ours.set_unusable({{ip("192.0.2.0"), "the host has it itself"}});
  EXPECT_EQ(put(a_balancer(kWeb)).record.addresses, std::vector{ip("192.0.2.1")});
}

TEST_F(ledger, addresses_of_the_host_are_targets_only_where_others_forward) {
  ours.set_unusable({{ip("10.0.0.1"), "the host has it itself"}});
  EXPECT_TRUE(put(a_balancer(kWeb)).problem);
  EXPECT_TRUE(put(a_set(kNodes)).problem);
  ours.leave_targets_to_others();
  EXPECT_FALSE(put(a_balancer(kWeb)).problem);
  EXPECT_FALSE(put(a_set(kNodes)).problem);
}

TEST_F(ledger, pools_that_the_owner_may_not_use_give_nothing) {
  const Ledger::Pools none;
  BalancerPlan plan = world.run(ours.put(a_balancer(kWeb), {}, &none, false)).value();
  EXPECT_TRUE(plan.problem);
}

TEST_F(ledger, pools_are_as_the_configuration_says_or_every_reason_why_not_is_told) {
  put(a_balancer(kWeb));
  EXPECT_EQ(load({a_pool("public", {"192.0.2.0/28"}), a_pool("b", {"2001:db8::/120"})}),
            std::vector<std::string>{"b"});
  EXPECT_TRUE(ours.changed().is_set());
  Result<std::vector<std::string>> loaded = world.run(
      ours.load_pools({a_pool("b", {"2001:db8::/120"}), a_pool("c", {"2001:db8::/121"})}));
  EXPECT_EQ(loaded.outcome(), Outcome::invalid);
  EXPECT_NE(loaded.error().message.find("overlaps"), std::string::npos);
  EXPECT_NE(loaded.error().message.find("192.0.2.0 (prod/web)"), std::string::npos);
  EXPECT_NE(latest()->pool("public"), nullptr);

  EXPECT_EQ(load({a_pool("public", {"192.0.2.0/28"})}), std::vector<std::string>{"b"});
  EXPECT_EQ(latest()->pool("b"), nullptr);
  EXPECT_TRUE(latest()->pools.look_up("b")->removed);
}

TEST_F(ledger, statuses_that_stand_already_are_not_written_again) {
  put(a_balancer(kWeb));
  put(a_balancer(kApi));
  ours.changed().clear();
  api::LoadBalancerStatus status;
  status.addresses = {ip("192.0.2.0")};
  api::TargetStatus target;
  target.address = ip("10.0.0.1");
  status.target_health = {target};
  const Revision before = latest()->revision;
  ASSERT_TRUE(world.run(ours.report({{kWeb, status}, {kApi, status}, {{"prod", "none"}, status}})));
  EXPECT_EQ(latest()->revision, before + 1);
  EXPECT_EQ(latest()->status(kWeb)->revision, before + 1);
  EXPECT_TRUE(latest()->status(kWeb)->status.target_health.empty());
  EXPECT_EQ(latest()->status({"prod", "none"}), nullptr);
  EXPECT_FALSE(ours.changed().is_set());
  ASSERT_TRUE(world.run(ours.report({{kWeb, status}, {kApi, status}})));
  EXPECT_EQ(latest()->revision, before + 1);
}

TEST_F(ledger, a_message_of_a_status_that_is_long_and_no_text_is_kept_and_stands_too) {
  put(a_balancer(kWeb));
  api::LoadBalancerStatus status;
  status.last_repair_reason = "said \xff\xfe";
  status.conditions = {{"Ready",
                        api::ConditionStatus::is_false,
                        "Refused",
                        "\xc3" + std::string(1'000'000, 'x'),
                        {},
                        1}};
  ASSERT_TRUE(world.run(ours.report({{kWeb, status}})));
  const Revision revision = latest()->revision;
  ASSERT_TRUE(world.run(ours.report({{kWeb, status}})));
  EXPECT_EQ(latest()->revision, revision);
  EXPECT_EQ(latest()->status(kWeb)->status.last_repair_reason, "said \xef\xbf\xbd\xef\xbf\xbd");
}

TEST_F(ledger, a_status_moves_neither_the_record_nor_its_revision) {
  BalancerPlan plan = put(a_balancer(kWeb));
  report(kWeb, 1);
  EXPECT_EQ(latest()->balancer(kWeb)->metadata.revision, plan.record.metadata.revision);
  const Preconditions as_read{.revision = plan.record.metadata.revision};
  EXPECT_FALSE(
      world.run(ours.put(a_balancer(kWeb, {81}), as_read, nullptr, false)).value().problem);
}

TEST_F(ledger, what_has_lost_its_meaning_is_forgotten) {
  load({a_pool("public", {"192.0.2.0/24"})});
  for (std::size_t i = 0; i < kForgottenPerCommit + 1; ++i) {
    const ObjectName name{"prod", "lb-" + std::to_string(i)};
    put(a_balancer(name));
    remove(name);
    finalize({name});
  }
  world.advance(5min);
  ASSERT_TRUE(world.run(ours.forget()));
  EXPECT_EQ(latest()->addresses.size(), kForgottenPerCommit + 1);
  world.advance(kFreeAge);
  ASSERT_TRUE(world.run(ours.forget()));
  EXPECT_TRUE(latest()->addresses.empty());
  EXPECT_FALSE(latest()->balancers.empty());
  world.advance(kTombstoneAge);
  const Revision before = latest()->revision;
  ASSERT_TRUE(world.run(ours.forget()));
  EXPECT_EQ(latest()->revision, before + 2);
  EXPECT_TRUE(latest()->balancers.empty());
  ASSERT_TRUE(world.run(ours.forget()));
  EXPECT_EQ(latest()->revision, before + 2);
}

// bench/ledger_bench.cc says what that saves.
TEST_F(ledger, a_status_leaves_the_maps_of_everything_else_as_they_are) {
  put(a_balancer(kWeb));
  put(a_balancer(kApi));
  report(kApi, 1);
  Ledger::Snapshot before = latest();
  report(kWeb, 1);
  Ledger::Snapshot after = latest();
  EXPECT_TRUE(before->balancers.is_same_as(after->balancers));
  EXPECT_TRUE(before->addresses.is_same_as(after->addresses));
  EXPECT_TRUE(before->pools.is_same_as(after->pools));
  EXPECT_EQ(before->status(kApi), after->status(kApi));
  EXPECT_EQ(before->status(kWeb), nullptr);
}

}  // namespace
}  // namespace isthmus::infra

#include "isthmus/infra/object_views.h"

#include <gtest/gtest.h>

#include "isthmus/infra/ledger_testing.h"

namespace isthmus::infra {
namespace {

using api::ConditionStatus;

BalancerRecord a_record() {
  BalancerRecord record;
  record.metadata.owner = "prod";
  record.metadata.name = "web";
  record.metadata.generation = 3;
  record.metadata.revision = 40;
  record.addresses = {ip("192.0.2.1")};
  return record;
}

TEST(object_views, what_nobody_has_reported_on_is_accepted_and_pending) {
  api::LoadBalancer balancer = shown(LedgerSnapshot{}, a_record(), at_second(5));
  EXPECT_EQ(balancer.metadata.revision, 40u);
  EXPECT_EQ(balancer.status.applied_generation, 0u);
  const api::Condition* accepted = find(balancer.status.conditions, api::condition::accepted);
  ASSERT_NE(accepted, nullptr);
  EXPECT_EQ(accepted->status, ConditionStatus::is_true);
  EXPECT_EQ(accepted->observed_generation, 3u);
  EXPECT_EQ(find(balancer.status.conditions, api::condition::programmed)->status,
            ConditionStatus::unknown);
}

TEST(object_views, the_addresses_are_those_of_the_store_and_the_revision_is_the_newer_one) {
  LedgerSnapshot snapshot;
  StatusRecord status;
  status.revision = 50;
  status.status.addresses = {ip("192.0.2.9")};
  status.status.repairs = 2;
  status.status.target_health.emplace_back();
  snapshot.statuses[kWeb] = std::make_shared<const StatusRecord>(status);
  api::LoadBalancer balancer = shown(snapshot, a_record(), at_second(5));
  EXPECT_EQ(balancer.metadata.revision, 50u);
  EXPECT_EQ(balancer.status.addresses, (std::vector<IpAddress>{ip("192.0.2.1")}));
  EXPECT_EQ(balancer.status.repairs, 2u);
  EXPECT_TRUE(balancer.status.target_health.empty());
}

TEST(object_views, a_tombstone_has_no_status) {
  BalancerRecord record = a_record();
  record.addresses.clear();
  record.deleted_at = at_second(4);
  EXPECT_TRUE(shown(LedgerSnapshot{}, record, at_second(5)).status.conditions.empty());
}

TEST(object_views, a_set_counts_each_load_balancer_that_refers_to_it_once) {
  LedgerSnapshot snapshot;
  auto add = [&snapshot](std::string name, std::string owner, bool gone) {
    api::LoadBalancer balancer = a_balancer_of_set({owner, name}, "nodes");
    balancer.spec.target_groups.push_back(balancer.spec.target_groups.front());
    BalancerRecord record{.metadata = balancer.metadata, .spec = balancer.spec, .addresses = {}};
    if (gone) record.deleted_at = at_second(1);
    snapshot.balancers[{owner, name}] = std::make_shared<const BalancerRecord>(record);
  };
  add("a", "prod", false);
  add("b", "prod", false);
  add("gone", "prod", true);
  add("c", "test", false);
  TargetSetRecord record;
  record.set = a_set({"prod", "nodes"});
  EXPECT_EQ(shown(snapshot, record).users, 2u);
  EXPECT_EQ(users_by_set(snapshot, "prod"), (std::map<std::string, std::uint64_t>{{"nodes", 2}}));
}

}  // namespace
}  // namespace isthmus::infra

// Leader migration with two leases in virtual time: what runs under which, and what a loss ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/app/manager_testing.h"
#include "isthmus/base/ip.h"
#include "isthmus/kube/api/namespace.h"

namespace isthmus::app {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

const kube::ObjectKey kMigration{.name_space = "kube-system", .name = "moving"};

// The service controller moves; the node controller stays under the main lease.
ManagerOptions migrating() {
  ManagerOptions options;
  options.migration.emplace();
  options.migration->election.lease = kMigration;
  options.migration->controllers = {std::string(kServiceControllerName)};
  return options;
}

bool runs(OneManager& one, const std::string& controller) {
  const std::string series =
      "running_managed_controllers{manager=\"cloud-controller-manager\",name=\"" + controller +
      "\"} ";
  const std::string text = one.metrics.text();
  return text.find(series + "1") != std::string::npos;
}

class ManagerMigrationTest : public ManagerFixture {
 protected:
  // Another component has the migration's lease, and says nothing more.
  void let_another_hold_the_migration() {
    api.put(kube::Lease::resource, R"({
        "metadata": {"namespace": "kube-system", "name": "moving"},
        "spec": {"holderIdentity": "kube-controller-manager-1", "leaseDurationSeconds": 15,
                 "acquireTime": "2026-01-01T00:00:00.000000Z",
                 "renewTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 3}})");
  }
};

TEST_F(ManagerMigrationTest, what_moves_starts_when_the_other_component_has_let_go) {
  let_another_hold_the_migration();
  OneManager one(world, api, "a", migrating());
  register_node("node1");
  start(one);
  pass(seconds(10));

  EXPECT_TRUE(initialized("node1")) << "what does not move runs under the main lease";
  EXPECT_TRUE(runs(one, "cloud-node"));
  EXPECT_FALSE(runs(one, "service"));
  EXPECT_EQ(api.calls(kube::testing::Verb::watch, "services"), 0u);
  EXPECT_EQ(one.check("leaderMigration"), Outcome::ok);
  EXPECT_EQ(one.check("migration-standby"), Outcome::ok);

  pass(seconds(15));
  EXPECT_EQ(holder(kMigration), "a");
  EXPECT_TRUE(runs(one, "service"));
  EXPECT_EQ(one.check("watch-services"), Outcome::ok);
}

TEST_F(ManagerMigrationTest, a_standby_does_not_even_try_for_the_second_lease) {
  OneManager first(world, api, "a");
  OneManager second(world, api, "b", migrating());
  start(first);
  pass(seconds(5));
  start(second);
  pass(minutes(1));
  EXPECT_TRUE(api.see(kube::Lease::resource, kMigration).is_null());
  EXPECT_EQ(second.check("migration-standby"), Outcome::ok);
}

TEST_F(ManagerMigrationTest, a_stop_releases_both_leases_and_the_other_takes_both) {
  OneManager first(world, api, "a", migrating());
  OneManager second(world, api, "b", migrating());
  start(first);
  pass(seconds(5));
  start(second);
  pass(minutes(1));
  ASSERT_EQ(holder(), "a");
  ASSERT_EQ(holder(kMigration), "a");

  first.stopping.set();
  pass(seconds(5));

  ASSERT_TRUE(first.answer.has_value());
  EXPECT_EQ(first.answer->outcome(), Outcome::ok);
  EXPECT_EQ(holder(), "b");
  EXPECT_EQ(holder(kMigration), "b");
  EXPECT_TRUE(runs(second, "service"));
  EXPECT_FALSE(runs(first, "service"));
}

TEST_F(ManagerMigrationTest, a_stop_does_not_wait_for_a_lease_that_another_holds) {
  let_another_hold_the_migration();
  OneManager one(world, api, "a", migrating());
  start(one);
  pass(seconds(5));

  one.stopping.set();
  pass(seconds(3));

  ASSERT_TRUE(one.answer.has_value());
  EXPECT_EQ(one.answer->outcome(), Outcome::ok);
  EXPECT_EQ(holder(), "");
  EXPECT_EQ(holder(kMigration), "kube-controller-manager-1");
}

TEST_F(ManagerMigrationTest, to_lose_either_lease_ends_everything_with_an_error) {
  for (const kube::ObjectKey& lease : {kLease, kMigration}) {
    OneManager one(world, api, "a-" + lease.name, migrating());
    start(one);
    pass(seconds(30));
    ASSERT_EQ(holder(lease), "a-" + lease.name);

    api.erase(kube::Lease::resource, lease);
    pass(seconds(20));

    ASSERT_TRUE(one.answer.has_value()) << lease.name;
    EXPECT_EQ(one.answer->outcome(), Outcome::lost);
    EXPECT_FALSE(runs(one, "cloud-node"));
    EXPECT_FALSE(runs(one, "service"));
    for (const kube::ObjectKey& left : api.keys(kube::Lease::resource)) {
      api.erase(kube::Lease::resource, left);
    }
  }
}

TEST_F(ManagerMigrationTest, nothing_is_begun_twice_for_the_second_lease) {
  OneManager one(world, api, "a", migrating());
  start(one);
  pass(seconds(30));

  ASSERT_TRUE(runs(one, "service"));
  EXPECT_EQ(one.provider->checks, 1u);
  EXPECT_EQ(api.calls(kube::testing::Verb::watch, "nodes"), 1u);
}

TEST_F(ManagerMigrationTest, a_lease_won_between_two_starts_starts_nothing_twice) {
  api.put(kube::Namespace::resource, R"({"metadata": {"name": "kube-system"}})");
  ManagerOptions options = migrating();
  options.migration->controllers = {std::string(kRouteControllerName)};
  options.controllers.insert(std::string(kRouteControllerName));
  options.route.plan.cluster_cidrs = {parse_prefix("10.244.0.0/16").value()};
  options.start_interval = seconds(1);
  OneManager one(world, api, "a", std::move(options));
  start(one);
  pass(seconds(30));

  ASSERT_TRUE(runs(one, "route"));
  EXPECT_EQ(api.calls(kube::testing::Verb::get, "namespaces"), 2u)
      << "services and routes ask once each which cluster this is";
}

TEST_F(ManagerMigrationTest, what_runs_elsewhere_is_not_even_built) {
  ManagerOptions options = migrating();
  options.migration->controllers.clear();
  options.migration->elsewhere = {std::string(kServiceControllerName)};
  OneManager one(world, api, "a", std::move(options));
  start(one);
  register_node("node1");
  pass(seconds(30));

  EXPECT_TRUE(initialized("node1"));
  EXPECT_EQ(holder(kMigration), "a") << "it takes part all the same";
  EXPECT_EQ(api.calls(kube::testing::Verb::watch, "services"), 0u);
  EXPECT_TRUE(one.log.mentions("the leader migration has it run in another component"));
}

TEST_F(ManagerMigrationTest, each_lease_has_a_check_of_its_own) {
  OneManager one(world, api, "a", migrating());
  std::vector<std::string> names;
  for (const HealthCheck& check : one.manager->checks()) names.push_back(check.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"leaderElection", "leaderMigration"}));

  OneManager alone(world, api, "b");
  for (const HealthCheck& check : alone.manager->checks()) {
    EXPECT_NE(check.name, "leaderMigration");
  }
}

}  // namespace
}  // namespace isthmus::app

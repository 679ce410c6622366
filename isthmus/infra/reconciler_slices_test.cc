#include <fmt/format.h>

#include "isthmus/infra/due_slices.h"
#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra {
namespace {

using namespace testing;

constexpr int kUsers = 40;

ObjectName numbered(int number) { return {"prod", fmt::format("web{:02}", number)}; }

// Load balancers that use one set of as many targets as a slice may cost, half of it.
class ReconcilingMany : public ReconcilerTest {
 protected:
  void SetUp() override {
    pool.ranges = {parse_prefix("10.0.0.64/26").value()};
    ReconcilerTest::SetUp();
    put_set(1000);
    for (int i = 0; i < kUsers; ++i) ASSERT_TRUE(process->put(user(numbered(i))));
    world.advance(5s);
    ASSERT_EQ(with_targets(1000), kUsers);
  }

  void put_set(unsigned targets) {
    api::TargetSet set;
    set.metadata.owner = "prod";
    set.metadata.name = "nodes";
    for (unsigned i = 0; i < targets; ++i) {
      set.targets.push_back({.name = fmt::format("node{}", i),
                             .addresses = {ip(fmt::format("10.1.{}.{}", i / 250, 1 + i % 250))}});
    }
    Result<TargetSetPlan> plan = world.run(process->ledger.put(set, {}, false));
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_FALSE(plan->problem) << plan->problem->detail;
  }
  static api::LoadBalancer user(const ObjectName& name) {
    api::LoadBalancer balancer = a_balancer(name);
    balancer.spec.target_groups = {{.name = "machines", .target_set = "nodes", .port = 30080}};
    return balancer;
  }
  int with_targets(unsigned count) {
    int found = 0;
    for (int i = 0; i < kUsers; ++i) found += process->status(numbered(i)).targets == count;
    return found;
  }
};

TEST_F(ReconcilingMany, a_change_of_a_set_reaches_all_its_users) {
  put_set(999);
  world.advance(1s);
  EXPECT_EQ(with_targets(999), kUsers);
}

TEST_F(ReconcilingMany, others_are_served_between_two_slices) {
  put_set(999);
  const ObjectName last{"zeta", "web"};
  ASSERT_TRUE(process->put(a_balancer(last)));
  world.advance(2ms);
  EXPECT_EQ(process->status(last).applied_generation, 1);
  EXPECT_LT(with_targets(999), kUsers);
  world.advance(1s);
  EXPECT_EQ(with_targets(999), kUsers);
}

TEST_F(ReconcilingMany, who_is_deleted_between_two_slices_leaves_nothing) {
  put_set(999);
  world.advance(1ms);
  for (int i = 20; i < kUsers; ++i) ASSERT_TRUE(process->remove(numbered(i)));
  world.advance(1s);
  EXPECT_EQ(kernel.ours(), 20);
  EXPECT_EQ(kernel.held.listeners.size(), 20);
  EXPECT_EQ(kernel.held.guarded.size(), 20);
}

TEST_F(ReconcilingMany, one_that_takes_a_listener_over_finds_it_free_whoever_comes_first) {
  api::LoadBalancer late = user(numbered(kUsers - 1));
  api::LoadBalancer early = user(numbered(0));
  late.spec.listeners[0].port = 8080;
  ASSERT_TRUE(process->put(late));
  early.spec.listeners[0].port = 8080;
  ASSERT_TRUE(process->put(early));
  put_set(998);
  world.advance(1s);
  EXPECT_EQ(with_targets(998), kUsers);
  EXPECT_EQ(kernel.held.listeners.size(), kUsers);
}

TEST_F(ReconcilingMany, bound_addresses_stay_where_the_rules_of_all_have_to_be_made_anew) {
  process.reset();
  kernel.held = {};
  begin();
  std::size_t fewest = kUsers;
  for (int i = 0; i < 50; ++i) {
    world.advance(1ms);
    fewest = std::min(fewest, kernel.ours());
  }
  EXPECT_EQ(fewest, kUsers);
  EXPECT_EQ(kernel.held.listeners.size(), kUsers);
  EXPECT_EQ(kernel.held.guarded.size(), kUsers);
  // That addresses were bound without rules is what this began with, not what we did.
  kernel.violations.clear();
  world.advance(1min);
}

}  // namespace
}  // namespace isthmus::infra

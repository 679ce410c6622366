// What a new process makes of what an earlier one left in the kernel, however that ended, and
// whichever copy of the store it finds.
#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra {
namespace {

using namespace testing;

const drivers::ListenerKey kListener{kVip, drivers::Protocol::tcp, 80};

class Restarting : public ReconcilerTest {
 protected:
  void lose_the_store() {
    process.reset();
    store = open_sqlite_store(":memory:").value();
  }
};

TEST_F(Restarting, with_everything_right_nothing_is_written_and_nobody_is_asked) {
  process->serve();
  const std::size_t writes = kernel.writes;
  const std::size_t asked = kernel.asked.size();
  const Revision revision = process->ledger_now()->revision;
  begin();
  world.advance(1min);
  EXPECT_EQ(kernel.writes, writes);
  EXPECT_EQ(kernel.asked.size(), asked);
  EXPECT_EQ(process->ledger_now()->revision, revision);
  EXPECT_TRUE(process->reconciler.is_ready());
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Restarting, a_target_that_was_unhealthy_does_not_come_back_by_itself) {
  api::LoadBalancer balancer = a_balancer();
  balancer.spec.target_groups[0].health_check = api::HealthCheck{};
  const Endpoint dead{ip("10.1.0.1"), 30080};
  process->prober.down = {dead};
  process->serve(balancer);
  world.advance(30s);
  const std::size_t writes = kernel.writes;
  process.reset();
  process = std::make_unique<Process>(world, *store, kernel);
  process->prober.down = {dead};
  ASSERT_TRUE(process->start());
  world.advance(1min);
  EXPECT_EQ(kernel.writes, writes);
  EXPECT_EQ(process->said("TargetsHealthy"), "False SomeUnhealthy");
}

TEST_F(Restarting, a_deletion_that_was_asked_for_is_carried_out) {
  process->serve();
  process->scope.reset();  // Nobody is left who would do it.
  ASSERT_TRUE(process->remove());
  EXPECT_TRUE(kernel.has(kVip));
  begin();
  EXPECT_FALSE(kernel.has(kVip));
  EXPECT_TRUE(kernel.held.listeners.empty());
  EXPECT_TRUE(process->ledger_now()->balancers.look_up(kWeb)->is_tombstone());
}

TEST_F(Restarting, what_no_store_knows_goes_on_serving_and_is_adopted_by_a_put) {
  process->serve();
  lose_the_store();
  begin();
  world.advance(1min);
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/web 1"});
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(process->ledger.orphans(), (Orphans{{kWeb, {1, {kVip}}}}));
  process->serve(a_balancer({"prod", "mail"}));
  EXPECT_NE(process->status({"prod", "mail"}).addresses, std::vector{kVip});
  const std::size_t asked = kernel.asked.size();
  process->serve();
  EXPECT_EQ(process->status().addresses, std::vector{kVip});
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/web 2"});
  EXPECT_EQ(process->said("Ready"), "True Ready");
  EXPECT_EQ(kernel.asked.size(), asked);
  EXPECT_TRUE(process->ledger.orphans().empty());
}

TEST_F(Restarting, an_orphan_is_announced_and_repaired_like_everybody) {
  process->serve();
  lose_the_store();
  begin();
  const int told = kernel.announced[kVip];
  kernel.held.listeners.clear();
  kernel.held.guarded.clear();
  kernel.changes.rules = true;
  world.advance(20s);
  EXPECT_GT(kernel.announced[kVip], told);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/web 1"});
  kernel.violations.clear();  // What others do leaves it bare for a moment.
}

TEST_F(Restarting, as_an_announcer_the_number_of_those_whose_rules_go_is_told_once) {
  process->serve();
  process->serve(a_balancer({"prod", "mail"}));
  begin();
  EXPECT_FALSE(process->log.mentions("driver is announce now"));
  begin(true);
  EXPECT_TRUE(process->log.mentions("driver is announce now"));
  EXPECT_TRUE(process->log.mentions("load_balancers=2"));
  begin(true);
  EXPECT_FALSE(process->log.mentions("driver is announce now"));
}

TEST_F(Restarting, an_orphan_that_is_given_up_goes) {
  process->serve();
  lose_the_store();
  begin();
  ASSERT_TRUE(process->ledger.abandon(kWeb));
  world.settle();
  EXPECT_FALSE(kernel.has(kVip));
  EXPECT_TRUE(kernel.held.listeners.empty());
  EXPECT_TRUE(process->ledger.orphans().empty());
  EXPECT_TRUE(process->ledger.abandoned().empty());
}

TEST_F(Restarting, an_old_copy_of_the_store_changes_nothing_until_it_is_written_again) {
  lose_the_store();
  begin();
  process->serve();
  process.reset();
  // Meanwhile in the copy that is lost it became generation 5.
  kernel.held.listeners[kListener].note = "prod/web 5";
  begin();
  world.advance(1min);
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/web 5"});
  EXPECT_EQ(process->said("Programmed"), "False StoreOlderThanKernel");
  EXPECT_EQ(process->status().applied_generation, 5);
  api::LoadBalancer again = a_balancer();
  again.metadata.labels = {{"again", "yes"}};
  process->serve(again);
  EXPECT_EQ(kernel.notes(kVip), std::vector<std::string>{"prod/web 6"});
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Restarting, an_old_tombstone_takes_nothing_away_and_a_new_deletion_does) {
  process->serve();
  process->scope.reset();
  ASSERT_TRUE(process->remove());
  process.reset();
  kernel.held.listeners[kListener].note = "prod/web 5";
  begin();
  world.advance(1min);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_TRUE(process->ledger.orphans().contains(kWeb));
  process->serve();
  EXPECT_EQ(process->said("Ready"), "True Ready");
  ASSERT_TRUE(process->remove());
  world.settle();
  EXPECT_FALSE(kernel.has(kVip));
}

}  // namespace
}  // namespace isthmus::infra

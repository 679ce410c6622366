// Two writers, crashes between two steps, and stores that fail (ledger.h).
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/faulty_store_testing.h"
#include "isthmus/infra/ledger.h"
#include "isthmus/infra/ledger_testing.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

const ObjectName kApi{"prod", "api"};

class ledger_race : public testing::Test {
 protected:
  ledger_race() {
    ours.found_in_kernel({}, {});
    theirs.found_in_kernel({}, {});
    EXPECT_TRUE(world.run(theirs.load_pools({a_pool("public", {"192.0.2.0/28"})})));
  }

  Result<BalancerPlan> put(Ledger& where, api::LoadBalancer said,
                           Preconditions preconditions = {}) {
    return world.run(where.put(std::move(said), preconditions, nullptr, false));
  }
  Ledger::Snapshot latest(Ledger& where) { return world.run(where.latest()).value(); }

  // Done by somebody else between what `ours` planned and its commit.
  template <class T>
  void meanwhile(Task<T> task) {
    store.before_commit = [this, task = std::make_shared<Task<T>>(std::move(task))]() mutable {
      EXPECT_TRUE(other_world.run(std::move(*task)));
    };
  }

  VirtualWorld world;
  VirtualWorld other_world;
  SeededRandom random{1};
  std::unique_ptr<Store> sqlite = open_sqlite_store(":memory:").value();
  FaultyStore store{*sqlite};
  Ledger ours{store, world.loop, random, "lb1"};
  Ledger theirs{*sqlite, world.loop, random, "lb1"};
};

TEST_F(ledger_race, a_change_by_another_writer_is_seen) {
  EXPECT_EQ(put(ours, a_balancer(kWeb)).value().record.addresses, std::vector{ip("192.0.2.0")});
  EXPECT_EQ(put(theirs, a_balancer(kApi)).value().record.addresses, std::vector{ip("192.0.2.1")});
  EXPECT_EQ(latest(ours)->balancers.size(), 2u);
}

TEST_F(ledger_race, two_that_want_the_same_address_never_both_get_it) {
  latest(ours);
  meanwhile(theirs.put(a_balancer(kApi), {}, nullptr, false));
  BalancerPlan plan = put(ours, a_balancer(kWeb)).value();
  EXPECT_EQ(plan.record.addresses, std::vector{ip("192.0.2.1")});
  EXPECT_EQ(latest(ours)->address(ip("192.0.2.0"))->holders, std::vector<std::string>{"api"});
}

TEST_F(ledger_race, a_precondition_is_checked_against_what_stands_when_it_is_committed) {
  const Revision revision = put(ours, a_balancer(kWeb)).value().record.metadata.revision;
  meanwhile(theirs.put(a_balancer(kWeb, {81}), {}, nullptr, false));
  BalancerPlan plan = put(ours, a_balancer(kWeb, {82}), {.revision = revision}).value();
  EXPECT_EQ(plan.problem->suffix(), api::problem::revision_conflict);
  EXPECT_EQ(latest(ours)->balancer(kWeb)->spec.listeners[0].port, 81);
}

TEST_F(ledger_race, a_set_that_gets_a_user_meanwhile_is_not_deleted) {
  ASSERT_TRUE(world.run(ours.put(a_set({"prod", "nodes"}), {}, false)));
  meanwhile(theirs.put(a_balancer_of_set(kWeb, "nodes"), {}, nullptr, false));
  TargetSetPlan plan = world.run(ours.remove_target_set({"prod", "nodes"}, {}, false)).value();
  EXPECT_EQ(plan.problem->suffix(), api::problem::target_set_in_use);
}

TEST_F(ledger_race, one_that_is_put_while_it_is_being_finalized_keeps_its_address) {
  put(ours, a_balancer(kWeb)).value();
  ASSERT_TRUE(world.run(ours.remove(kWeb, {}, false)));
  meanwhile(theirs.put(a_balancer(kWeb), {}, nullptr, false));
  ASSERT_TRUE(world.run(ours.finalize({kWeb})));
  EXPECT_FALSE(latest(ours)->balancer(kWeb)->is_leaving());
  EXPECT_EQ(latest(ours)->address(ip("192.0.2.0"))->holders, std::vector<std::string>{"web"});
}

TEST_F(ledger_race, the_status_of_one_that_went_meanwhile_is_not_written) {
  put(ours, a_balancer(kWeb)).value();
  ASSERT_TRUE(world.run(ours.remove(kWeb, {}, false)));
  meanwhile(theirs.finalize({kWeb}));
  ASSERT_TRUE(world.run(ours.report({{kWeb, {}}})));
  EXPECT_EQ(latest(ours)->status(kWeb), nullptr);
}

TEST_F(ledger_race, a_pool_whose_address_is_given_meanwhile_does_not_go) {
  latest(ours);
  meanwhile(theirs.put(a_balancer(kWeb), {}, nullptr, false));
  EXPECT_EQ(world.run(ours.load_pools({})).outcome(), Outcome::invalid);
}

TEST_F(ledger_race, whoever_always_loses_is_told_to_come_back) {
  store.commit_failure = Error{Outcome::conflict, "somebody was faster"};
  Result<BalancerPlan> plan = put(ours, a_balancer(kWeb));
  EXPECT_EQ(plan.outcome(), Outcome::busy);
  EXPECT_GT(plan.error().retry_after, 0s);
  EXPECT_EQ(store.commits, static_cast<std::size_t>(kAttemptsMax));
  EXPECT_FALSE(ours.changed().is_set());
  EXPECT_EQ(world.run(ours.load_pools({})).outcome(), Outcome::busy);
}

TEST_F(ledger_race, a_full_disk_is_trouble_until_it_takes_writes_again) {
  put(ours, a_balancer(kWeb)).value();
  ours.changed().clear();
  store.commit_failure = Error{Outcome::lost, "disk full"};
  EXPECT_EQ(put(ours, a_balancer(kApi)).outcome(), Outcome::lost);
  EXPECT_EQ(world.run(ours.report({{kWeb, {}}})).outcome(), Outcome::lost);
  EXPECT_EQ(world.run(ours.forget()).outcome(), Outcome::ok);
  EXPECT_EQ(ours.write_trouble(), "disk full");
  EXPECT_FALSE(ours.changed().is_set());
  EXPECT_EQ(latest(ours)->balancer(kApi), nullptr);
  store.commit_failure.reset();
  EXPECT_TRUE(put(ours, a_balancer(kApi)));
  EXPECT_FALSE(ours.write_trouble());
}

TEST_F(ledger_race, a_store_that_is_busy_says_so_through_the_ledger) {
  store.read_failure = Error{Outcome::busy, "come back", 3s};
  Result<BalancerPlan> plan = put(ours, a_balancer(kWeb));
  EXPECT_EQ(plan.outcome(), Outcome::busy);
  EXPECT_EQ(plan.error().retry_after, 3s);
}

TEST_F(ledger_race, a_put_whose_answer_was_lost_is_no_second_change_when_it_is_repeated) {
  store.lost_answer = Error{Outcome::lost, "cut off"};
  EXPECT_EQ(put(ours, a_balancer(kWeb)).outcome(), Outcome::lost);
  store.lost_answer.reset();
  BalancerPlan again = put(ours, a_balancer(kWeb)).value();
  EXPECT_FALSE(again.write);
  EXPECT_EQ(again.record.metadata.generation, 1u);
  EXPECT_EQ(again.record.addresses, std::vector{ip("192.0.2.0")});
}

// A step that is about to be committed, and never is.
TEST_F(ledger_race, a_crash_before_the_commit_leaves_everything_as_it_was) {
  put(ours, a_balancer(kWeb)).value();
  const Revision before = latest(ours)->revision;
  {
    Task<Result<BalancerPlan>> dropped = ours.put(a_balancer(kApi), {}, nullptr, false);
  }
  Ledger after(*sqlite, world.loop, random, "lb1");
  EXPECT_EQ(latest(after)->revision, before);
  EXPECT_EQ(latest(after)->balancer(kApi), nullptr);
}

TEST_F(ledger_race, a_crash_between_deletion_and_finalizing_is_finished_after_the_restart) {
  put(ours, a_balancer(kWeb)).value();
  ASSERT_TRUE(world.run(ours.remove(kWeb, {}, false)));
  Ledger after(*sqlite, world.loop, random, "lb1");
  ASSERT_TRUE(latest(after)->balancer(kWeb)->is_leaving());
  ASSERT_TRUE(world.run(after.finalize({kWeb})));
  EXPECT_EQ(latest(after)->balancer(kWeb), nullptr);
  ASSERT_TRUE(world.run(after.finalize({kWeb})));
  EXPECT_TRUE(latest(after)->address(ip("192.0.2.0"))->holders.empty());
}

}  // namespace
}  // namespace isthmus::infra

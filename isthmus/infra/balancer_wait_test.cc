#include "isthmus/infra/balancer_wait.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/http_testing.h"
#include "isthmus/infra/ledger_testing.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;
using api::ConditionStatus;

api::LoadBalancer with(std::string_view type, ConditionStatus status, std::uint64_t generation) {
  api::LoadBalancer balancer;
  balancer.status.conditions = {{.type = std::string(type),
                                 .status = status,
                                 .reason = "Said",
                                 .message = "",
                                 .last_transition = {},
                                 .observed_generation = generation}};
  return balancer;
}

TEST(is_over, when_the_condition_is_true_for_the_generation_or_a_later_one) {
  WaitRequest wait{"Ready", 7, 25s};
  EXPECT_FALSE(is_over(with("Ready", ConditionStatus::is_true, 6), wait, 7));
  EXPECT_TRUE(is_over(with("Ready", ConditionStatus::is_true, 7), wait, 7));
  EXPECT_TRUE(is_over(with("Ready", ConditionStatus::is_true, 8), wait, 7));
  EXPECT_FALSE(is_over(with("Ready", ConditionStatus::is_false, 7), wait, 7));
  EXPECT_FALSE(is_over(with("Programmed", ConditionStatus::is_true, 7), wait, 7));
}

TEST(is_over, when_waiting_changes_nothing) {
  WaitRequest wait{"Ready", 7, 25s};
  EXPECT_TRUE(is_over(with("Accepted", ConditionStatus::is_false, 7), wait, 7));
  EXPECT_TRUE(is_over(with("AddressAllocated", ConditionStatus::is_false, 7), wait, 7));
  EXPECT_FALSE(is_over(with("Accepted", ConditionStatus::is_false, 6), wait, 7));
  api::LoadBalancer leaving;
  leaving.metadata.deletion_requested_at = at_second(1);
  EXPECT_TRUE(is_over(leaving, wait, 7));
}

class balancer_wait : public testing::Test {
 protected:
  balancer_wait() {
    EXPECT_TRUE(world.run(ledger.load_pools({a_pool("public", {"192.0.2.0/29"})})));
    ledger.found_in_kernel({}, {});
    EXPECT_FALSE(world.run(ledger.put(a_balancer(kWeb), {}, nullptr, false))->problem);
  }

  VirtualWorld world;
  Metrics metrics;
  SeededRandom random{1};
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  Ledger ledger{*store, world.loop, random, "lb1"};
  BalancerWait waits{*store, ledger, world.loop, metrics};
  RecordingWriter writer;
};

Task<Result<>> leave_later(RecordingWriter& writer) {
  CO_TRY(co_await sleep_for(5s));
  writer.client_left.set();
  co_return Result<>{};
}

Task<Result<Ledger::Snapshot>> wait_and_leave(BalancerWait& waits, RecordingWriter& writer) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(leave_later, std::ref(writer));
  WaitRequest wait{"Ready", 1, 25s};
  Result<Ledger::Snapshot> ended = co_await waits.wait(kWeb, std::move(wait), 1, writer);
  Result<> joined = co_await scope.join();
  CO_TRY(std::move(joined));
  co_return ended;
}

TEST_F(balancer_wait, ends_when_its_client_leaves) {
  auto ended = world.run(wait_and_leave(waits, writer));
  EXPECT_EQ(world.elapsed(), 5s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(*ended, nullptr);
}

TEST_F(balancer_wait, ends_when_its_time_is_over_and_looks_only_when_something_changed) {
  auto ended = world.run(waits.wait(kWeb, {"Ready", 1, 25s}, 1, writer));
  ASSERT_TRUE(ended);
  EXPECT_NE((*ended)->balancer(kWeb), nullptr);
  EXPECT_EQ(world.elapsed(), 25s);
}

TEST_F(balancer_wait, ends_when_there_is_nothing_to_wait_for) {
  auto ended = world.run(waits.wait({"prod", "none"}, {"Ready", 1, 25s}, 1, writer));
  ASSERT_TRUE(ended);
  EXPECT_EQ(world.elapsed(), 0s);
}

}  // namespace
}  // namespace isthmus::infra

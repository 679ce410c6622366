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

constexpr std::uint64_t kGeneration = 7;
const WaitRequest kReady{"Ready", kGeneration, 25s};

// Whether a wait for Ready is over when the host says so.
bool is_over_with(std::string_view type, ConditionStatus status, std::uint64_t generation) {
  BalancerRecord record;
  record.metadata.owner = kWeb.owner;
  record.metadata.name = kWeb.name;
  StatusRecord found;
  found.status.conditions = {{.type = std::string(type),
                              .status = status,
                              .reason = "Said",
                              .message = "",
                              .last_transition = {},
                              .observed_generation = generation}};
  LedgerSnapshot snapshot;
  snapshot.statuses[kWeb] = std::make_shared<const StatusRecord>(found);
  return is_over(snapshot, record, kReady, kGeneration);
}

TEST(is_over, when_the_condition_is_true_for_the_generation_or_a_later_one) {
  EXPECT_FALSE(is_over_with("Ready", ConditionStatus::is_true, 6));
  EXPECT_TRUE(is_over_with("Ready", ConditionStatus::is_true, 7));
  EXPECT_TRUE(is_over_with("Ready", ConditionStatus::is_true, 8));
  EXPECT_FALSE(is_over_with("Ready", ConditionStatus::is_false, 7));
  EXPECT_FALSE(is_over_with("Programmed", ConditionStatus::is_true, 7));
}

TEST(is_over, when_waiting_changes_nothing) {
  EXPECT_TRUE(is_over_with("Accepted", ConditionStatus::is_false, 7));
  EXPECT_TRUE(is_over_with("AddressAllocated", ConditionStatus::is_false, 7));
  EXPECT_FALSE(is_over_with("Accepted", ConditionStatus::is_false, 6));
  BalancerRecord leaving;
  leaving.metadata.deletion_requested_at = at_second(1);
  EXPECT_TRUE(is_over(LedgerSnapshot{}, leaving, kReady, kGeneration));
}

TEST(is_over, for_what_was_done_with_the_write_before_the_host_has_looked) {
  BalancerRecord record;
  record.metadata.generation = kGeneration;
  EXPECT_TRUE(is_over(LedgerSnapshot{}, record, {"AddressAllocated", {}, 25s}, kGeneration));
  EXPECT_FALSE(is_over(LedgerSnapshot{}, record, kReady, kGeneration));
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
  BalancerWait waits{*store, ledger, metrics};
  RecordingWriter writer;
};

Task<Result<>> leave_later(RecordingWriter& writer) {
  CO_TRY(co_await sleep_for(5s));
  writer.client_left.set();
  co_return Result<>{};
}

Task<Result<>> wait_for_ready(BalancerWait& waits, RecordingWriter& writer, bool& stayed) {
  Result<bool> ended = co_await waits.wait(kWeb, {"Ready", 1, 25s}, writer);
  stayed = ended.value_or(false);
  co_return Result<>{};
}

Task<Result<>> report_later(Ledger& ledger, ConditionStatus status, Duration delay) {
  CO_TRY(co_await sleep_for(delay));
  api::LoadBalancerStatus found;
  found.conditions = {{.type = "Ready",
                       .status = status,
                       .reason = "Said",
                       .message = "",
                       .last_transition = {},
                       .observed_generation = 1}};
  std::vector<Ledger::FoundStatus> statuses{{kWeb, found}};
  Result<> reported = co_await ledger.report(std::move(statuses));
  co_return reported;
}

// Two wait; the client of the one who came first leaves after 5 s, and after 8 s it is ready.
Task<Result<>> two_wait(BalancerWait& waits, Ledger& ledger, RecordingWriter& first,
                        bool& first_stayed, RecordingWriter& second, bool& second_stayed) {
  Scope& here = co_await current_scope();
  Scope scope(here);
  scope.spawn(wait_for_ready, std::ref(waits), std::ref(first), std::ref(first_stayed));
  scope.spawn(wait_for_ready, std::ref(waits), std::ref(second), std::ref(second_stayed));
  scope.spawn(leave_later, std::ref(first));
  scope.spawn(report_later, std::ref(ledger), ConditionStatus::is_false, Duration(2s));
  scope.spawn(report_later, std::ref(ledger), ConditionStatus::is_true, Duration(8s));
  Result<> joined = co_await scope.join();
  co_return joined;
}

TEST_F(balancer_wait, one_whose_client_leaves_ends_and_the_others_go_on) {
  RecordingWriter other;
  bool first_stayed = true;
  bool second_stayed = false;
  ASSERT_TRUE(world.run(two_wait(waits, ledger, writer, first_stayed, other, second_stayed)));
  EXPECT_EQ(world.elapsed(), 8s);
  EXPECT_FALSE(first_stayed);
  EXPECT_TRUE(second_stayed);
}

TEST_F(balancer_wait, ends_when_its_time_is_over) {
  EXPECT_EQ(world.run(waits.wait(kWeb, {"Ready", 1, 25s}, writer)), Result<bool>(true));
  EXPECT_EQ(world.elapsed(), 25s);
}

TEST_F(balancer_wait, ends_when_there_is_nothing_to_wait_for) {
  EXPECT_TRUE(world.run(waits.wait({"prod", "none"}, {"Ready", {}, 25s}, writer)));
  EXPECT_TRUE(world.run(waits.wait(kWeb, {"Accepted", {}, 25s}, writer)));
  EXPECT_EQ(world.elapsed(), 0s);
}

}  // namespace
}  // namespace isthmus::infra

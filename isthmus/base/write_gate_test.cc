#include "isthmus/base/write_gate.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus {
namespace {

using namespace std::chrono_literals;

class WriteGateTest : public ::testing::Test {
 protected:
  // A write that takes this long, and notes that it was begun and that it had its effect.
  Task<Result<int>> write(Duration time) {
    ++begun;
    CO_TRY(co_await sleep_for(time));
    ++done;
    co_return 7;
  }
  Result<int> pass(Duration time = 1ms) { return world.run(gate.pass(write(time))); }

  VirtualWorld world;
  Metrics metrics;
  WriteGate gate{metrics};
  int begun = 0;
  int done = 0;
};

TEST_F(WriteGateTest, is_shut_until_there_is_a_rule) {
  const Result<int> answer = pass();
  EXPECT_EQ(answer.outcome(), Outcome::cancelled);
  EXPECT_EQ(begun, 0);
}

TEST_F(WriteGateTest, lets_a_call_through_while_every_rule_allows_it) {
  gate.add_rule("lease", [this] { return Result<Moment>(world.loop.now() + 1s); });
  gate.add_rule("switch", [] { return Result<Moment>(Moment::max()); });
  EXPECT_EQ(pass(), Result<int>(7));
}

TEST_F(WriteGateTest, sends_nothing_that_a_rule_forbids_and_counts_it_under_its_name) {
  bool is_stopped = false;
  gate.add_rule("lease", [this] { return Result<Moment>(world.loop.now() + 1s); });
  gate.add_rule("switch", [&is_stopped]() -> Result<Moment> {
    if (is_stopped) return fail(Outcome::busy, "somebody said stop");
    return Moment::max();
  });
  EXPECT_TRUE(pass());
  is_stopped = true;
  const Result<int> answer = pass();
  ASSERT_EQ(answer.outcome(), Outcome::cancelled) << "whatever the rule called it";
  EXPECT_EQ(answer.error().message, "not sent: somebody said stop");
  EXPECT_EQ(begun, 1);
  EXPECT_NE(metrics.text().find(R"(isthmus_writes_not_sent_total{rule="switch"} 1)"),
            std::string::npos);
}

TEST_F(WriteGateTest, gives_a_call_no_more_time_than_the_strictest_rule) {
  gate.add_rule("a", [this] { return Result<Moment>(world.loop.now() + 3s); });
  gate.add_rule("b", [this] { return Result<Moment>(world.loop.now() + 2s); });
  EXPECT_EQ(pass(10s).outcome(), Outcome::deadline);
  EXPECT_EQ(world.elapsed(), 2s);
  EXPECT_EQ(done, 0);
}

TEST_F(WriteGateTest, cuts_off_what_is_under_way_and_nothing_that_comes_later) {
  gate.add_rule("always", [] { return Result<Moment>(Moment::max()); });
  Scope scope(world.loop);
  std::optional<Result<int>> first;
  scope.spawn(
      [](Task<Result<int>> call, std::optional<Result<int>>& answer) -> Task<Result<>> {
        Result<int> result = co_await std::move(call);
        answer = std::move(result);
        co_return Result<>{};
      },
      gate.pass(write(10s)), std::ref(first));
  EXPECT_TRUE(pass(1s));
  gate.end_calls();
  EXPECT_TRUE(pass(1s));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->outcome(), Outcome::cancelled);
  EXPECT_EQ(done, 2);
  EXPECT_LT(world.elapsed(), 3s);
}

}  // namespace
}  // namespace isthmus

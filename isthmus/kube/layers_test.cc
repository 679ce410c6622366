#include "isthmus/kube/layers.h"

#include <gtest/gtest.h>

#include "isthmus/base/scope.h"
#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/lease_life.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
using testing::Verb;

const ObjectName kName{Node::resource, {"", "n1"}};
const PatchRequest kPatch{
    kName, {}, {PatchType::merge, {}, R"({"metadata": {"labels": {"a": "b"}}})"}};

class LayersTest : public ::testing::Test {
 protected:
  LayersTest() {
    api.put(Node::resource, R"({"metadata": {"name": "n1"}})");
    gate.add_rule(LeaseLife::kRule, [this] { return life.allows(); });
  }
  VirtualWorld world;
  FakeApi api{world.loop};
  Metrics metrics;
  LeaseLife life{world.loop};
  WriteGate gate{metrics};
};

TEST_F(LayersTest, a_budget_spreads_calls_beyond_its_burst) {
  TokenBucket budget(world.loop, 10, 5);
  PacedApi paced(api, budget, world.loop, metrics, "h");
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(world.run(paced.get(kName)));
  EXPECT_EQ(world.elapsed(), 2s) << "5 at once, 20 more at 10 a second";
  constexpr std::string_view kCount =
      R"(rest_client_rate_limiter_duration_seconds_count{host="h",verb="GET"} 25)";
  EXPECT_NE(metrics.text().find(kCount), std::string::npos);
}

TEST_F(LayersTest, a_budget_used_up_by_one_purpose_does_not_hold_up_another) {
  TokenBucket work_budget(world.loop, 1, 1);
  TokenBucket event_budget(world.loop, 1, 1);
  PacedApi work(api, work_budget, world.loop, metrics);
  PacedApi events(api, event_budget, world.loop, metrics);
  Scope scope(world.loop);
  for (int i = 0; i < 100; ++i) {
    scope.spawn(
        [](PacedApi& door) -> Task<Result<>> {
          Result<std::string> got = co_await door.get(kName);
          co_return Result<>{};
        },
        std::ref(events));
  }
  EXPECT_TRUE(world.run(work.get(kName)));
  EXPECT_EQ(world.elapsed(), 0s);
}

TEST_F(LayersTest, writes_are_not_sent_without_the_lease_and_reads_are) {
  GatedApi gated(api, gate);
  EXPECT_EQ(world.run(gated.patch(kPatch)).outcome(), Outcome::cancelled);
  EXPECT_EQ(world.run(gated.create({kName, "{}"})).outcome(), Outcome::cancelled);
  EXPECT_EQ(world.run(gated.remove({kName, {"uid", ""}})).outcome(), Outcome::cancelled);
  EXPECT_EQ(api.calls(Verb::patch) + api.calls(Verb::create) + api.calls(Verb::remove), 0u);
  EXPECT_TRUE(world.run(gated.get(kName)));
  life.set_until(world.loop.now() + 1s);
  EXPECT_TRUE(world.run(gated.patch(kPatch)));
}

TEST_F(LayersTest, a_write_gets_no_more_time_than_the_lease_has_left) {
  GatedApi gated(api, gate);
  life.set_until(world.loop.now() + 3s);
  api.inject({.verb = Verb::patch, .hang = true});
  EXPECT_EQ(world.run(gated.patch(kPatch)).outcome(), Outcome::deadline);
  EXPECT_EQ(world.elapsed(), 3s);
}

TEST_F(LayersTest, the_lease_is_looked_at_after_the_wait_for_the_budget) {
  TokenBucket budget(world.loop, 0.1, 1);
  GatedApi gated(api, gate);
  PacedApi work(gated, budget, world.loop, metrics);
  life.set_until(world.loop.now() + 5s);
  EXPECT_TRUE(world.run(work.patch(kPatch)));
  EXPECT_EQ(world.run(work.patch(kPatch)).outcome(), Outcome::cancelled);
  EXPECT_EQ(api.calls(Verb::patch), 1u);
}

}  // namespace
}  // namespace isthmus::kube

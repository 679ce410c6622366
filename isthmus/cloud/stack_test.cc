#include "isthmus/cloud/stack.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::cloud {
namespace {

TEST(stack, answers_from_memory_while_the_breaker_is_open) {
  VirtualWorld world;
  Metrics metrics;
  NullLogger log;
  auto owned = std::make_unique<providers::fake::FakeProvider>();
  providers::fake::FakeProvider& provider = *owned;
  provider.add("m1", "node1");
  WriteGate gate(metrics);
  Stack stack(std::move(owned), {}, gate, world.loop, metrics, log);
  const Duration minute = std::chrono::minutes(1);
  ASSERT_TRUE(world.run(stack.instances()->get({"fake", "m1"}, minute)));
  provider.faults.calls_until_limit = 0;
  EXPECT_EQ(world.run(stack.instances()->get({"fake", "m2"}, minute)).outcome(), Outcome::busy);
  EXPECT_TRUE(world.run(stack.instances()->get({"fake", "m1"}, minute)));
  EXPECT_EQ(stack.guard().breaker_state(), Breaker::State::open);
}

}  // namespace
}  // namespace isthmus::cloud

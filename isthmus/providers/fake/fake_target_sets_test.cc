#include "isthmus/providers/fake/fake_target_sets.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::providers::fake {
namespace {

struct fake_target_sets : testing::Test {
  Result<> ensure(cloud::TargetSetSpec wish) {
    return world.run(cloud.target_sets.ensure(std::move(wish)));
  }
  VirtualWorld world;
  FakeProvider cloud;
  cloud::TargetSetSpec set{.name = "nodes", .targets = {{.name = "node1"}, {.name = "node2"}}};
  cloud::LoadBalancerSpec user{.name = "web",
                               .listeners = {{.name = "http", .port = 80, .target_port = 30080}},
                               .target_set = "nodes"};
};

TEST_F(fake_target_sets, reach_their_users_when_they_change) {
  EXPECT_EQ(world.run(cloud.load_balancers.ensure(user)).outcome(), Outcome::invalid);
  EXPECT_TRUE(ensure(set));
  const auto made = world.run(cloud.load_balancers.ensure(user));
  EXPECT_EQ(made->targets, 2U);
  EXPECT_TRUE(ensure(set));
  EXPECT_EQ(cloud.target_sets.writes, 1U);
  set.targets.pop_back();
  EXPECT_TRUE(ensure(set));
  const auto now = world.run(cloud.load_balancers.get("web"));
  EXPECT_EQ(now->targets, 1U);
  EXPECT_EQ(now->generation, made->generation);
  EXPECT_GT(now->revision, made->revision);
}

TEST_F(fake_target_sets, foretell_what_would_become_of_them) {
  using Effect = cloud::LoadBalancerPreview::Effect;
  const auto effect = [&] { return world.run(cloud.target_sets.preview(set))->effect; };
  EXPECT_EQ(effect(), Effect::created);
  EXPECT_TRUE(cloud.target_sets.standing.empty());
  EXPECT_TRUE(ensure(set));
  EXPECT_EQ(effect(), Effect::unchanged);
  set.targets.pop_back();
  EXPECT_EQ(effect(), Effect::changed);
  EXPECT_EQ(world.run(cloud.target_sets.preview({})).outcome(), Outcome::invalid);
  cloud.target_sets.supported = false;
  EXPECT_EQ(world.run(cloud.target_sets.preview(set)).outcome(), Outcome::unsupported);
}

TEST_F(fake_target_sets, stay_while_they_are_used) {
  EXPECT_TRUE(ensure(set));
  EXPECT_TRUE(world.run(cloud.load_balancers.ensure(user)));
  EXPECT_EQ(world.run(cloud.target_sets.release("nodes")).outcome(), Outcome::conflict);
  EXPECT_TRUE(world.run(cloud.load_balancers.release("web")));
  EXPECT_TRUE(world.run(cloud.target_sets.release("nodes")));
  EXPECT_TRUE(world.run(cloud.target_sets.release("nodes")));
}

TEST_F(fake_target_sets, are_unsupported_when_told) {
  cloud.target_sets.supported = false;
  EXPECT_EQ(ensure(set).outcome(), Outcome::unsupported);
  cloud.has_target_sets = false;
  EXPECT_EQ(cloud.capabilities().target_sets, nullptr);
}

}  // namespace
}  // namespace isthmus::providers::fake

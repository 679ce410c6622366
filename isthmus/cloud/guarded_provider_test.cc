#include "isthmus/cloud/guarded_provider.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"

namespace isthmus::cloud {
namespace {

// A cloud that answers about something else than it was asked for.
struct Confused final : Provider, Instances, LoadBalancers {
  const std::string& name() const override { return word; }
  const std::string& scheme() const override { return word; }
  Capabilities capabilities() override { return {.instances = this, .load_balancers = this}; }
  Task<Result<>> check() override { co_return {}; }
  Task<Result<Instance>> get(ProviderId) override {
    co_return Instance{.provider_id = {"fake", "m2"}};
  }
  Task<Result<Listing<Instance>>> list(InstanceQuery) override {
    co_return Listing<Instance>{{Instance{.provider_id = {"fake", "m1"}}, Instance{}},
                                Completeness::complete};
  }
  Task<Result<LoadBalancerState>> ensure(LoadBalancerSpec) override {
    co_return LoadBalancerState{.name = "other"};
  }
  Task<Result<>> release(std::string) override { co_return {}; }
  Task<Result<LoadBalancerState>> get(std::string) override {
    co_return LoadBalancerState{.name = "other"};
  }
  Task<Result<Listing<LoadBalancerState>>> list() override {
    co_return Listing<LoadBalancerState>{};
  }
  Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec) override {
    co_return LoadBalancerPreview{};
  }
  Task<Result<>> follow(std::function<void(LoadBalancerNews)>) override {
    co_return fail(Outcome::unsupported, "says nothing by itself");
  }
  std::string word = "fake";
};

struct guarded_provider : testing::Test {
  VirtualWorld world;
  Metrics metrics;
  NullLogger log;
  Confused confused;
  GuardedProvider guarded{confused, {}, world.loop, metrics, log};
};

TEST_F(guarded_provider, offers_what_the_provider_offers) {
  const Capabilities has = guarded.capabilities();
  EXPECT_TRUE(has.instances && has.load_balancers);
  EXPECT_FALSE(has.routes || has.firewalls);
  EXPECT_TRUE(world.run(guarded.check()));
}

TEST_F(guarded_provider, takes_an_answer_about_another_machine_for_a_lost_one) {
  Instances& instances = *guarded.capabilities().instances;
  EXPECT_EQ(world.run(instances.get({"fake", "m1"})).outcome(), Outcome::lost);
  EXPECT_TRUE(world.run(instances.get({"fake", "m2"})));
}

TEST_F(guarded_provider, calls_a_list_partial_that_has_a_machine_without_an_id) {
  const auto list = world.run(guarded.capabilities().instances->list({}));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->items.size(), 1U);
  EXPECT_EQ(list->completeness, Completeness::partial);
}

TEST_F(guarded_provider, takes_an_answer_about_another_load_balancer_for_a_lost_one) {
  LoadBalancers& balancers = *guarded.capabilities().load_balancers;
  EXPECT_EQ(world.run(balancers.ensure({.name = "lb-1"})).outcome(), Outcome::lost);
  EXPECT_EQ(world.run(balancers.get("lb-1")).outcome(), Outcome::lost);
  EXPECT_TRUE(world.run(balancers.release("lb-1")));
}

}  // namespace
}  // namespace isthmus::cloud

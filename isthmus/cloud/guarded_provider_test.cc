#include "isthmus/cloud/guarded_provider.h"

#include <vector>

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
    co_return LoadBalancerState{.name = "lb-2"};
  }
  Task<Result<>> release(std::string) override { co_return {}; }
  Task<Result<LoadBalancerState>> get(std::string) override {
    co_return LoadBalancerState{.name = "lb-2"};
  }
  Task<Result<Listing<LoadBalancerState>>> list() override {
    co_return Listing<LoadBalancerState>{states, Completeness::complete};
  }
  Task<Result<LoadBalancerPreview>> preview(LoadBalancerSpec) override {
    co_return LoadBalancerPreview{};
  }
  Task<Result<>> follow(std::function<void(LoadBalancerNews)> tell) override {
    tell({.kind = LoadBalancerNews::Kind::everything, .states = states});
    CO_TRY(co_await sleep_for(std::chrono::hours(1)));
    tell({.kind = LoadBalancerNews::Kind::resources});
    co_return fail(Outcome::lost, "the end");
  }
  std::vector<LoadBalancerState> states;
  std::string word = "fake";
};

// Likewise about tables of routes.
struct ConfusedRoutes final : Provider, RouteTables {
  const std::string& name() const override { return word; }
  const std::string& scheme() const override { return word; }
  Capabilities capabilities() override { return {.route_tables = this}; }
  Task<Result<>> check() override { co_return {}; }
  Task<Result<RouteTableState>> ensure(RouteTableSpec) override { co_return table; }
  Task<Result<RouteTableState>> get(std::string) override { co_return table; }
  Task<Result<>> release(std::string) override { co_return {}; }
  Task<Result<>> follow(std::string, Tell tell) override {
    tell(std::nullopt);
    tell(table);
    CO_TRY(co_await sleep_for(std::chrono::hours(1)));
    co_return fail(Outcome::lost, "the end");
  }
  RouteTableState table{.name = "pods"};
  std::string word = "fake";
};

struct guarded_route_tables : testing::Test {
  std::string follow() {
    told = 0;
    return world.run(tables.follow("pods", [this](const auto&) { ++told; })).error().message;
  }
  VirtualWorld world;
  Metrics metrics;
  NullLogger log;
  ConfusedRoutes confused;
  GuardedProvider guarded{confused, {}, world.loop, metrics, log};
  RouteTables& tables = *guarded.capabilities().route_tables;
  std::size_t told = 0;
};

TEST_F(guarded_route_tables, are_passed_on_as_they_are_answered) {
  EXPECT_TRUE(world.run(tables.ensure({.name = "pods"})));
  EXPECT_TRUE(world.run(tables.get("pods")));
  EXPECT_TRUE(world.run(tables.release("pods")));
  EXPECT_EQ(follow(), "the end");
  EXPECT_EQ(told, 2U);
}

TEST_F(guarded_route_tables, of_another_name_are_a_lost_answer) {
  confused.table.name = "other";
  EXPECT_EQ(world.run(tables.ensure({.name = "pods"})).outcome(), Outcome::lost);
  EXPECT_EQ(world.run(tables.get("pods")).outcome(), Outcome::lost);
  EXPECT_EQ(follow(), "asked for pods, and was answered about other");
  EXPECT_EQ(told, 1U);
}

TEST_F(guarded_route_tables, that_say_two_things_of_a_destination_are_a_lost_answer) {
  confused.table.routes.resize(2);
  EXPECT_EQ(world.run(tables.get("pods")).outcome(), Outcome::lost);
  EXPECT_EQ(follow(), "contradictory answer: pods with two routes to 0.0.0.0/0");
}

struct guarded_provider : testing::Test {
  VirtualWorld world;
  Metrics metrics;
  NullLogger log;
  Confused confused;
  GuardedProvider guarded{confused, {}, world.loop, metrics, log};
  LoadBalancers& balancers = *guarded.capabilities().load_balancers;
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
  EXPECT_EQ(world.run(balancers.ensure({.name = "lb-1"})).outcome(), Outcome::lost);
  EXPECT_EQ(world.run(balancers.get("lb-1")).outcome(), Outcome::lost);
  EXPECT_TRUE(world.run(balancers.get("lb-2")));
  EXPECT_TRUE(world.run(balancers.release("lb-1")));
  EXPECT_TRUE(world.run(balancers.preview({.name = "lb-1"})));
}

TEST_F(guarded_provider, calls_a_list_partial_that_has_nonsense_in_it) {
  const LoadBalancerState good{.name = "good"};
  confused.states = {good};
  EXPECT_EQ(world.run(balancers.list()),
            (Result<Listing<LoadBalancerState>>({{good}, Completeness::complete})));
  for (const LoadBalancerState& bad :
       {LoadBalancerState{}, LoadBalancerState{.name = "bad", .settled = true}, good}) {
    confused.states = {good, bad};
    const auto list = world.run(balancers.list());
    EXPECT_EQ(list->completeness, Completeness::partial);
    EXPECT_EQ(list->items, (std::vector{good}));
  }
}

TEST_F(guarded_provider, passes_news_on_until_they_are_nonsense) {
  std::size_t told = 0;
  const auto count = [&told](const LoadBalancerNews&) { ++told; };
  confused.states = {{.name = "good"}};
  EXPECT_EQ(world.run(balancers.follow(count)).error().message, "the end");
  EXPECT_EQ(told, 2U);
  EXPECT_EQ(guarded.guard().breaker_state(), Breaker::State::closed);
  confused.states = {{.name = "good"}, {.name = "bad", .settled = true}};
  const auto end = world.run(balancers.follow(count));
  EXPECT_EQ(end.error(),
            (Error{Outcome::lost, "the news tell of bad, settled without an address"}));
  EXPECT_EQ(told, 2U);
}

}  // namespace
}  // namespace isthmus::cloud

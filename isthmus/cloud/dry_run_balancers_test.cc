#include "isthmus/cloud/dry_run_balancers.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::cloud {
namespace {

using Kind = LoadBalancerNews::Kind;
using providers::fake::FakeProvider;

LoadBalancerSpec spec(std::string name) {
  return {.name = std::move(name),
          .labels = {{"service", "web"}},
          .listeners = {{.name = "http", .port = 80, .target_port = 30080}},
          .targets = {{.name = "node1", .addresses = {parse_ip("10.0.0.1").value()}}}};
}

TargetSetSpec set_of(std::size_t targets) {
  TargetSetSpec set{.name = "nodes"};
  for (std::size_t i = 0; i < targets; ++i) {
    const std::string address = "10.0.0." + std::to_string(i + 1);
    set.targets.push_back(
        {.name = "node" + std::to_string(i), .addresses = {parse_ip(address).value()}});
  }
  return set;
}

struct dry_run_balancers : testing::Test {
  Result<LoadBalancerState> ensure(LoadBalancerSpec wish) {
    return world.run(balancers.ensure(std::move(wish)));
  }
  Result<LoadBalancerState> get(std::string name) {
    return world.run(balancers.get(std::move(name)));
  }
  // It really is there.
  void make(LoadBalancerSpec wish) {
    ASSERT_TRUE(world.run(cloud.load_balancers.ensure(std::move(wish))));
  }
  std::vector<std::string> told() const {
    std::vector<std::string> lines;
    for (const MemoryLogger::Line& line : log.lines) lines.push_back(line.text);
    return lines;
  }

  VirtualWorld world;
  FakeProvider cloud;
  MemoryLogger log;
  DryRunTargetSets sets{cloud.target_sets, log};
  DryRunLoadBalancers balancers{cloud.load_balancers, &sets, log};
};

TEST_F(dry_run_balancers, one_that_would_be_made_is_shown_with_the_address_it_would_get) {
  const auto state = ensure(spec("web"));
  ASSERT_TRUE(state);
  EXPECT_EQ(to_string(state->addresses.at(0)), "192.0.2.1");
  EXPECT_TRUE(state->settled);
  EXPECT_EQ(get("web"), *state);
  EXPECT_EQ(world.run(balancers.list())->items, std::vector{*state});
  EXPECT_TRUE(cloud.load_balancers.standing.empty());
  EXPECT_EQ(told(), std::vector<std::string>{
                        R"("would create load balancer" name="web" labels="service=web" )"
                        R"(addresses="192.0.2.1" changes="labels: nothing -> service=web; )"
                        R"(listeners: nothing -> http tcp/80 to 30080; )"
                        R"(targets: nothing -> node1 10.0.0.1")"});
}

TEST_F(dry_run_balancers, the_same_wish_is_told_once_and_another_one_again) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(ensure(spec("web")));
  EXPECT_EQ(log.lines.size(), 1U);
  LoadBalancerSpec other = spec("web");
  other.listeners[0].port = 81;
  EXPECT_TRUE(ensure(other));
  EXPECT_EQ(log.lines.size(), 2U);
}

TEST_F(dry_run_balancers, one_that_stands_as_it_should_is_answered_as_it_is) {
  make(spec("web"));
  const auto state = ensure(spec("web"));
  EXPECT_EQ(state, cloud.load_balancers.state_of("web"));
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(dry_run_balancers, a_change_is_shown_until_somebody_really_changes_it) {
  make(spec("web"));
  LoadBalancerSpec other = spec("web");
  other.labels = {{"service", "shop"}};
  other.listeners[0].port = 81;
  EXPECT_TRUE(ensure(other));
  EXPECT_EQ(get("web")->labels.at("service"), "shop");
  EXPECT_TRUE(log.mentions("would change load balancer"));

  cloud.load_balancers.touched("web", true);
  EXPECT_EQ(get("web")->labels.at("service"), "web");
  EXPECT_EQ(cloud.load_balancers.writes, 1U) << "by us never";
}

TEST_F(dry_run_balancers, a_refusal_of_the_cloud_is_a_refusal) {
  LoadBalancerSpec greedy = spec("web");
  greedy.requested_addresses = {parse_ip("203.0.113.1").value()};
  EXPECT_FALSE(ensure(greedy));
  EXPECT_EQ(get("web").outcome(), Outcome::absent);
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(dry_run_balancers, a_release_of_what_is_there_is_told_and_shown) {
  make(spec("web"));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(world.run(balancers.release("web")));
  EXPECT_EQ(get("web").outcome(), Outcome::absent);
  EXPECT_TRUE(world.run(balancers.list())->items.empty());
  EXPECT_EQ(told(), std::vector<std::string>{R"("would release load balancer" name="web" )"
                                             R"(labels="service=web" addresses="192.0.2.1")"});
  EXPECT_TRUE(cloud.load_balancers.standing.contains("web"));
}

TEST_F(dry_run_balancers, a_release_of_nothing_is_no_news) {
  EXPECT_TRUE(world.run(balancers.release("web")));
  EXPECT_TRUE(log.lines.empty());
  EXPECT_TRUE(ensure(spec("web")));
  EXPECT_TRUE(world.run(balancers.release("web"))) << "it stood in thought only";
  EXPECT_EQ(get("web").outcome(), Outcome::absent);
  EXPECT_EQ(log.lines.size(), 1U);
}

TEST_F(dry_run_balancers, a_cloud_that_does_not_answer_is_no_cloud_without_it) {
  cloud.faults.error = Error{Outcome::lost, "cut"};
  EXPECT_EQ(world.run(balancers.release("web")).outcome(), Outcome::lost);
  EXPECT_EQ(get("web").outcome(), Outcome::lost);
}

TEST_F(dry_run_balancers, news_show_what_was_imagined) {
  make(spec("old"));
  EXPECT_TRUE(ensure(spec("new")));
  EXPECT_TRUE(world.run(balancers.release("old")));
  std::vector<std::string> heard;
  Scope scope(world.loop);
  scope.spawn(&DryRunLoadBalancers::follow, &balancers, [&heard](LoadBalancerNews news) {
    std::string text = news.kind == Kind::everything ? "everything" : "changed";
    for (const LoadBalancerState& state : news.states) text += " " + state.name;
    heard.push_back(text);
  });
  world.settle();
  cloud.load_balancers.touched("old");
  world.settle();
  cloud.load_balancers.touched("old", true);
  world.settle();
  EXPECT_EQ(heard, (std::vector<std::string>{"everything new", "changed", "changed old"}));
}

TEST_F(dry_run_balancers, a_set_that_stands_in_thought_only_lends_its_targets) {
  LoadBalancerSpec wish = spec("web");
  wish.targets.clear();
  wish.target_set = "nodes";
  EXPECT_FALSE(ensure(wish)) << "the cloud has no such set";
  EXPECT_TRUE(world.run(sets.ensure(set_of(2))));
  EXPECT_TRUE(ensure(wish));
  EXPECT_TRUE(log.mentions(R"("would create target set" name="nodes" targets=2)"));
  EXPECT_TRUE(cloud.target_sets.standing.empty());

  ASSERT_TRUE(world.run(cloud.target_sets.ensure(set_of(2))));
  EXPECT_TRUE(world.run(sets.ensure(set_of(2))));
  EXPECT_EQ(sets.imagined("nodes"), nullptr) << "somebody made it";
}

TEST_F(dry_run_balancers, a_set_is_told_of_when_it_would_change_or_go) {
  ASSERT_TRUE(world.run(cloud.target_sets.ensure(set_of(2))));
  EXPECT_TRUE(world.run(sets.ensure(set_of(2))));
  EXPECT_TRUE(log.lines.empty());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(world.run(sets.ensure(set_of(3))));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(world.run(sets.release("nodes")));
  EXPECT_TRUE(world.run(sets.release("never")));
  EXPECT_EQ(told(), (std::vector<std::string>{R"("would change target set" name="nodes" targets=3 )"
                                              R"(changes="targets: 2 -> 3")",
                                              R"("would release target set" name="nodes")"}));
  EXPECT_EQ(cloud.target_sets.writes, 1U);
  cloud.target_sets.supported = false;
  EXPECT_EQ(world.run(sets.ensure(set_of(3))).outcome(), Outcome::unsupported);
}

}  // namespace
}  // namespace isthmus::cloud

#include "isthmus/providers/fake/fake_load_balancers.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::providers::fake {
namespace {

using namespace std::chrono_literals;
using Kind = cloud::LoadBalancerNews::Kind;

cloud::LoadBalancerSpec spec(std::string name) {
  return {.name = std::move(name),
          .labels = {{"for", "tests"}},
          .listeners = {{.name = "http", .port = 80, .target_port = 30080}},
          .targets = {{.name = "node1", .addresses = {parse_ip("10.0.0.1").value()}}}};
}

// What was heard, as text: "everything 2", "changed web@1", "removed web@1", "resources".
Task<Result<>> listen(FakeLoadBalancers& balancers, std::vector<std::string>& heard) {
  Result<> end = co_await balancers.follow([&heard](cloud::LoadBalancerNews news) {
    if (news.kind == Kind::everything) {
      heard.push_back("everything " + std::to_string(news.states.size()));
    } else if (news.kind == Kind::resources) {
      heard.emplace_back("resources");
    } else {
      const cloud::LoadBalancerState& state = news.states.at(0);
      heard.push_back((news.kind == Kind::changed ? "changed " : "removed ") + state.name +
                      (state.settled ? " settled" : ""));
    }
  });
  heard.push_back("end: " + std::string(to_string(end.outcome())));
  co_return {};
}

struct fake_load_balancers : testing::Test {
  Result<cloud::LoadBalancerState> ensure(cloud::LoadBalancerSpec wish) {
    return world.run(balancers.ensure(std::move(wish)));
  }
  VirtualWorld world;
  FakeProvider cloud;
  FakeLoadBalancers& balancers = cloud.load_balancers;
};

TEST_F(fake_load_balancers, are_made_once_and_changed_only_when_asked_otherwise) {
  const auto made = ensure(spec("web"));
  ASSERT_TRUE(made);
  EXPECT_EQ(to_string(made->addresses.at(0)), "192.0.2.1");
  EXPECT_TRUE(made->settled);
  EXPECT_EQ(made->targets, 1U);
  EXPECT_EQ(*ensure(spec("web")), *made);
  cloud::LoadBalancerSpec other = spec("web");
  other.listeners[0].port = 8080;
  const auto preview = world.run(balancers.preview(other));
  ASSERT_TRUE(preview);
  EXPECT_EQ(preview->effect, cloud::LoadBalancerPreview::Effect::changed);
  EXPECT_EQ(preview->changes.at(0).part, "listeners");
  const auto changed = ensure(other);
  EXPECT_EQ(changed->generation, made->generation + 1);
  EXPECT_EQ(changed->addresses, made->addresses);
  EXPECT_EQ(balancers.writes, 2U);
}

TEST_F(fake_load_balancers, settle_and_go_in_their_time) {
  balancers.settle_after = 2s;
  balancers.release_takes = 5s;
  EXPECT_FALSE(ensure(spec("web"))->settled);
  world.advance(2s);
  EXPECT_TRUE(world.run(balancers.get("web"))->settled);
  const auto release = world.run(balancers.release("web"));
  EXPECT_EQ(release.outcome(), Outcome::busy);
  EXPECT_EQ(release.error().retry_after, 5s);
  EXPECT_TRUE(world.run(balancers.get("web"))->is_leaving);
  world.advance(5s);
  EXPECT_TRUE(world.run(balancers.release("web")));
  EXPECT_EQ(world.run(balancers.get("web")).outcome(), Outcome::absent);
  EXPECT_EQ(ensure(spec("web"))->generation, 2U);
}

TEST_F(fake_load_balancers, tell_everything_first_and_then_what_happens_in_order) {
  balancers.settle_after = 2s;
  balancers.release_takes = 1s;
  EXPECT_TRUE(ensure(spec("old")));
  std::vector<std::string> heard;
  Scope scope(world.loop);
  scope.spawn(listen, std::ref(balancers), std::ref(heard));
  world.settle();
  EXPECT_EQ(balancers.followers(), 1U);
  EXPECT_TRUE(ensure(spec("web")));
  world.advance(3s);
  EXPECT_EQ(world.run(balancers.release("web")).outcome(), Outcome::busy);
  world.advance(1s);
  balancers.repaired("old", "rules were gone");
  balancers.resources_changed();
  world.settle();
  balancers.cut_follows();
  world.settle();
  EXPECT_EQ(heard, (std::vector<std::string>{"everything 1", "changed web", "changed old settled",
                                             "changed web settled", "changed web", "removed web",
                                             "resources", "changed old settled", "resources",
                                             "end: lost"}));
  balancers.tells = false;
  EXPECT_EQ(world.run(balancers.follow([](const auto&) {})).outcome(), Outcome::unsupported);
}

TEST_F(fake_load_balancers, suffer_the_faults_of_their_cloud) {
  cloud.faults.answers_lost = 1;
  EXPECT_EQ(ensure(spec("web")).outcome(), Outcome::lost);
  EXPECT_TRUE(balancers.standing.contains("web"));
  EXPECT_EQ(ensure(spec("web"))->generation, 1U);
  cloud.faults.list_only = 0;
  EXPECT_EQ(world.run(balancers.list())->completeness, cloud::Completeness::partial);
  cloud.faults.error = Error{Outcome::denied, "no"};
  EXPECT_EQ(ensure(spec("other")).outcome(), Outcome::denied);
  EXPECT_EQ(balancers.standing.size(), 1U);
}

TEST_F(fake_load_balancers, of_two_owners_share_addresses_and_nothing_else) {
  FakeProvider other;
  other.load_balancers.owner = "other";
  other.load_balancers.share_pool_of(balancers);
  EXPECT_TRUE(ensure(spec("web")));
  const auto theirs = world.run(other.load_balancers.ensure(spec("web")));
  EXPECT_EQ(to_string(theirs->addresses.at(0)), "192.0.2.2");
  EXPECT_TRUE(world.run(other.load_balancers.release("web")));
  EXPECT_TRUE(balancers.standing.contains("web"));
}

}  // namespace
}  // namespace isthmus::providers::fake

// Load balancers and target sets of the provider, held by our own backend on an imagined host.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/providers/infra/backend_testing.h"

namespace isthmus::providers::infra {
namespace {

using namespace std::chrono_literals;
using cloud::LoadBalancerSpec;
using cloud::LoadBalancerState;
using News = cloud::LoadBalancerNews;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

class infra_balancers : public testing::BackendFixture {
 protected:
  infra_balancers() : BackendFixture(kHost) {
    background.spawn(&testing::backend::Server::run, server.get());
    EXPECT_TRUE(ensure_set({"10.1.0.1", "10.1.0.2"}));
  }
  cloud::LoadBalancers& balancers() { return *provider->capabilities().load_balancers; }
  cloud::TargetSets& sets() { return *provider->capabilities().target_sets; }

  Result<> ensure_set(const std::vector<std::string>& addresses) {
    cloud::TargetSetSpec spec{.name = "nodes"};
    for (const std::string& address : addresses) {
      spec.targets.push_back(
          {.name = fmt::format("n{}", spec.targets.size()), .addresses = {ip(address)}});
    }
    return world.run(sets().ensure(std::move(spec)));
  }
  static LoadBalancerSpec spec(std::string name = "web") {
    return {.name = std::move(name),
            .listeners = {{"http", cloud::Protocol::tcp, 80, 30080}},
            .target_set = "nodes"};
  }
  Result<LoadBalancerState> ensure(LoadBalancerSpec wanted) {
    return world.run(balancers().ensure(std::move(wanted)));
  }
  Result<LoadBalancerState> get(std::string name = "web") {
    return world.run(balancers().get(std::move(name)));
  }
  // Its state once the host has done what there is to do.
  LoadBalancerState after(Duration time, std::string name = "web") {
    world.advance(time);
    Result<LoadBalancerState> state = get(std::move(name));
    EXPECT_TRUE(state) << state.error().message;
    return state.value_or(LoadBalancerState{});
  }
  Result<> release(std::string name = "web") {
    return world.run(balancers().release(std::move(name)));
  }
  // From now on everything that is told is kept, one word for each.
  void follow() {
    background.spawn(keep_following, std::ref(balancers()), std::ref(told));
    world.settle();
  }
  static Task<Result<>> keep_following(cloud::LoadBalancers& balancers,
                                       std::vector<std::string>& told) {
    Result<> ended = co_await balancers.follow([&told](const News& news) {
      static constexpr std::array kWords = {"everything", "changed", "removed", "resources"};
      std::string word = kWords.at(static_cast<std::size_t>(news.kind));
      for (const LoadBalancerState& state : news.states) {
        word += fmt::format(" {}{}", state.name, state.settled ? " settled" : "");
      }
      if (told.empty() || told.back() != word) told.push_back(std::move(word));
    });
    told.push_back("ended: " + ended.error().message);
    co_return Result<>{};
  }

  std::unique_ptr<InfraProvider> provider = provider_of("/prod");
  std::vector<std::string> told;
  Scope background{world.loop};
};

TEST_F(infra_balancers, get_an_address_at_once_and_are_settled_when_the_host_holds_them) {
  const auto state = ensure(spec());
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_THAT(state->addresses, SizeIs(1));
  EXPECT_FALSE(state->settled);
  EXPECT_THAT(state->facts, IsEmpty());
  const LoadBalancerState settled = after(5s);
  EXPECT_TRUE(settled.settled);
  EXPECT_EQ(settled.addresses, state->addresses);
  EXPECT_TRUE(kernel.has(settled.addresses.front()));
  EXPECT_EQ(settled.targets, 2U);
  EXPECT_GT(settled.revision, state->revision);
}

TEST_F(infra_balancers, that_are_right_already_are_not_written) {
  ASSERT_TRUE(ensure(spec()));
  const LoadBalancerState before = after(5s);
  const std::size_t writes = kernel.writes;
  const auto again = ensure(spec());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, before);
  EXPECT_EQ(after(5s), before);
  EXPECT_EQ(kernel.writes, writes);
}

TEST_F(infra_balancers, say_how_their_targets_are) {
  LoadBalancerSpec wanted = spec();
  wanted.health_check = LoadBalancerSpec::HealthCheck{.port = 10256};
  ASSERT_TRUE(ensure(wanted));
  EXPECT_EQ(after(20s).health, LoadBalancerState::Health::all);
  prober.down = {{ip("10.1.0.1"), 10256}};
  EXPECT_EQ(after(30s).health, LoadBalancerState::Health::some);
  EXPECT_THAT(get()->facts, IsEmpty());
  prober.down = {{ip("10.1.0.1"), 10256}, {ip("10.1.0.2"), 10256}};
  const LoadBalancerState unwell = after(30s);
  EXPECT_EQ(unwell.health, LoadBalancerState::Health::none);
  ASSERT_THAT(unwell.facts, SizeIs(1));
  EXPECT_EQ(unwell.facts[0].reason, "TargetsUnhealthy");
  EXPECT_TRUE(unwell.settled);
}

TEST_F(infra_balancers, of_one_set_are_all_changed_by_one_call) {
  ASSERT_TRUE(ensure(spec("a")));
  ASSERT_TRUE(ensure(spec("b")));
  ASSERT_TRUE(ensure_set({"10.1.0.1", "10.1.0.2", "10.1.0.3"}));
  EXPECT_EQ(after(5s, "a").targets, 3U);
  EXPECT_EQ(after(0s, "b").targets, 3U);
  EXPECT_EQ(world.run(sets().release("nodes")).outcome(), Outcome::conflict);
}

TEST_F(infra_balancers, wait_for_a_set_that_is_not_there) {
  LoadBalancerSpec wanted = spec();
  wanted.target_set = "others";
  const auto refused = ensure(wanted);
  EXPECT_EQ(refused.outcome(), Outcome::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("others"));
}

TEST_F(infra_balancers, are_gone_once_the_host_has_let_go_of_them) {
  ASSERT_TRUE(ensure(spec()));
  const IpAddress address = after(5s).addresses.front();
  EXPECT_EQ(release().outcome(), Outcome::busy);
  world.advance(5s);
  EXPECT_TRUE(release());
  EXPECT_TRUE(release());
  EXPECT_EQ(get().outcome(), Outcome::absent);
  EXPECT_FALSE(kernel.has(address));
  EXPECT_TRUE(world.run(sets().release("nodes")));
  EXPECT_TRUE(world.run(sets().release("nodes")));
}

TEST_F(infra_balancers, that_find_no_address_say_who_has_them) {
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_TRUE(ensure(spec(name))) << name;
  const auto refused = ensure(spec("e"));
  EXPECT_EQ(refused.outcome(), Outcome::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("public"));
  LoadBalancerSpec taken = spec("e");
  taken.requested_addresses = get("a")->addresses;
  EXPECT_EQ(ensure(taken).outcome(), Outcome::conflict);
  taken.requested_addresses = {ip("203.0.113.1")};
  EXPECT_EQ(ensure(taken).outcome(), Outcome::conflict);
  taken.requested_addresses.clear();
  taken.pool = "nowhere";
  EXPECT_NE(ensure(taken).outcome(), Outcome::ok);
}

TEST_F(infra_balancers, are_previewed_and_nothing_is_held) {
  const auto created = world.run(balancers().preview(spec()));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(created->effect, cloud::LoadBalancerPreview::Effect::created);
  EXPECT_THAT(created->addresses, SizeIs(1));
  EXPECT_EQ(get().outcome(), Outcome::absent);

  ASSERT_TRUE(ensure(spec()));
  EXPECT_EQ(world.run(balancers().preview(spec()))->effect,
            cloud::LoadBalancerPreview::Effect::unchanged);
  LoadBalancerSpec other = spec();
  other.listeners[0].port = 81;
  const auto changed = world.run(balancers().preview(other));
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->effect, cloud::LoadBalancerPreview::Effect::changed);
  EXPECT_THAT(changed->changes,
              Contains(cloud::LoadBalancerPreview::Change{"/spec/listeners/0/port", "80", "81"}));
}

TEST_F(infra_balancers, of_another_owner_are_another_matter) {
  ASSERT_TRUE(ensure(spec()));
  const LoadBalancerState ours = after(5s);
  auto stranger = provider_of("/test");
  cloud::LoadBalancers& theirs = *stranger->capabilities().load_balancers;
  EXPECT_EQ(world.run(theirs.get("web")).outcome(), Outcome::absent);
  EXPECT_TRUE(world.run(theirs.release("web")));
  EXPECT_THAT(world.run(theirs.list())->items, IsEmpty());
  auto posing = provider_of("/test", "prod");
  EXPECT_EQ(world.run(posing->capabilities().load_balancers->release("web")).outcome(),
            Outcome::denied);
  EXPECT_EQ(after(5s), ours);
}

TEST_F(infra_balancers, of_an_administrator_are_those_of_the_owner_that_is_configured) {
  ASSERT_TRUE(ensure(spec()));
  auto nobody = provider_of("/admin");
  EXPECT_EQ(world.run(nobody->capabilities().load_balancers->list()).outcome(), Outcome::denied);
  auto acting = provider_of("/admin", "prod");
  EXPECT_THAT(world.run(acting->capabilities().load_balancers->list())->items, SizeIs(1));
}

TEST_F(infra_balancers, are_followed_from_the_first_to_the_last_of_them) {
  ASSERT_TRUE(ensure(spec("a")));
  world.advance(5s);
  follow();
  EXPECT_THAT(told, ElementsAre("everything a settled"));
  ASSERT_TRUE(ensure(spec("b")));
  world.advance(5s);
  EXPECT_EQ(told.back(), "changed b settled");
  EXPECT_EQ(release("b").outcome(), Outcome::busy);
  world.advance(5s);
  EXPECT_EQ(told.back(), "removed b");
  world.advance(1h);
  EXPECT_THAT(told, Contains("resources"));
  EXPECT_THAT(told, Not(Contains(HasSubstr("ended"))));
}

TEST_F(infra_balancers, tell_that_somebody_else_changed_the_set_and_not_that_we_did) {
  follow();
  ASSERT_TRUE(ensure_set({"10.1.0.1"}));
  world.advance(5s);
  EXPECT_THAT(told, ElementsAre("everything"));
  auto other = provider_of("/prod");
  ASSERT_TRUE(world.run(other->capabilities().target_sets->ensure({.name = "nodes"})));
  world.advance(5s);
  EXPECT_THAT(told, ElementsAre("everything", "resources"));
}

TEST_F(infra_balancers, are_followed_until_the_token_is_withdrawn) {
  follow();
  write("/prod", "another-token");
  auto old = provider_of("/old");
  write("/old", "owner-token");
  world.advance(1min);
  EXPECT_THAT(told.back(), HasSubstr("ended"));
}

class infra_without_host : public testing::BackendFixture {
 protected:
  infra_without_host() : BackendFixture("") {}
};

TEST_F(infra_without_host, has_machines_and_says_why_it_has_no_load_balancers) {
  auto provider = provider_of("/prod");
  EXPECT_TRUE(world.run(provider->check()));
  EXPECT_TRUE(world.run(provider->capabilities().instances->list({})));
  const auto refused = world.run(provider->capabilities().load_balancers->list());
  EXPECT_EQ(refused.outcome(), Outcome::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("has no host"));
}

}  // namespace
}  // namespace isthmus::providers::infra

#include "isthmus/infra/drivers/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isthmus/base/random.h"

namespace isthmus::infra::drivers {
namespace {

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }
IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }
Target target(std::string_view address) { return {.endpoint = {ip(address), 30080}}; }

Balancer a_balancer() {
  return {.note = "prod/web 7",
          .addresses = {ip("192.0.2.1")},
          .listeners = {{Protocol::tcp, 80, 0}},
          .groups = {{target("10.0.0.1"), target("10.0.0.2")}}};
}

const ListenerKey kWeb{parse_ip("192.0.2.1").value(), Protocol::tcp, 80};

// The kernel as it is once these balancers, and nothing else, are there.
Held holding(std::vector<Balancer> balancers) {
  Held held;
  Plan plan = make_plan(held, {.balancers = std::move(balancers)}).value();
  carry_out(plan, held);
  return held;
}

std::set<Endpoint> owners(const Held& held, const ListenerKey& key) {
  const Slots& slots = held.listeners.at(key).slots;
  return {slots.begin(), slots.end()};
}

TEST(plan, nothing_is_built_up_to_what_is_wanted) {
  Plan plan =
      make_plan({}, {.balancers = {a_balancer()}, .links = {prefix("10.0.0.0/24")}}).value();
  EXPECT_EQ(plan.text(),
            "build the chains and rules\n"
            "learn link 10.0.0.0/24\n"
            "guard 192.0.2.1\n"
            "serve tcp 192.0.2.1:80 for prod/web 7: 2 targets, 128 slots move\n");
}

TEST(plan, what_is_right_already_needs_no_plan) {
  Held held = holding({a_balancer()});
  EXPECT_TRUE(make_plan(held, {.balancers = {a_balancer()}})->empty());
}

TEST(plan, what_is_not_wanted_goes_and_its_guard_goes_last) {
  Held held = holding({a_balancer()});
  EXPECT_EQ(make_plan(held, {})->text(), "stop tcp 192.0.2.1:80\nunguard 192.0.2.1\n");
}

TEST(plan, with_rest_kept_only_what_is_named_is_looked_at) {
  Balancer other = a_balancer();
  other.addresses = {ip("192.0.2.2")};
  Held held = holding({a_balancer(), other});
  Balancer changed = a_balancer();
  changed.groups[0].pop_back();

  Plan plan = make_plan(held, {.balancers = {changed}, .rest = Rest::keep}).value();
  EXPECT_EQ(plan.text(), "change tcp 192.0.2.1:80 for prod/web 7: 1 targets, 64 slots move\n");

  Wish leaving{.gone = {kWeb}, .unguarded = {ip("192.0.2.1")}, .rest = Rest::keep};
  carry_out(make_plan(held, leaving).value(), held);
  EXPECT_EQ(held.listeners.size(), 1u);
  EXPECT_EQ(held.guarded, std::set{ip("192.0.2.2")});
}

TEST(plan, a_drained_an_unusable_and_a_weightless_target_get_no_slot) {
  Balancer balancer = a_balancer();
  balancer.groups[0].push_back(target("10.0.0.3"));
  balancer.groups[0].push_back(target("10.0.0.4"));
  balancer.groups[0][0].drain = true;
  balancer.groups[0][1].usable = false;
  balancer.groups[0][2].weight = 0;
  EXPECT_EQ(owners(holding({balancer}), kWeb), std::set{balancer.groups[0][3].endpoint});
}

TEST(plan, each_family_is_served_by_its_own_targets) {
  Balancer balancer = a_balancer();
  balancer.addresses.push_back(ip("2001:db8::1"));
  balancer.groups[0].push_back(target("fd00::1"));
  Held held = holding({balancer});
  EXPECT_EQ(owners(held, kWeb).size(), 2u);
  ListenerKey v6{ip("2001:db8::1"), Protocol::tcp, 80};
  EXPECT_EQ(owners(held, v6), std::set{balancer.groups[0][2].endpoint});
}

TEST(plan, sources_are_disjoint_and_of_the_listeners_family) {
  Balancer balancer = a_balancer();
  balancer.allowed_sources = {prefix("10.0.1.0/24"), prefix("fd00::/8"), prefix("10.0.0.0/16"),
                              prefix("10.0.0.0/24")};
  HeldListener listener = holding({balancer}).listeners.at(kWeb);
  EXPECT_EQ(listener.choice, Choice::restricted_random);
  EXPECT_EQ(listener.sources, std::vector{prefix("10.0.0.0/16")});

  balancer.allowed_sources = {prefix("fd00::/8")};
  listener = holding({balancer}).listeners.at(kWeb);
  EXPECT_EQ(listener.choice, Choice::restricted_random) << "nobody, rather than everybody";
  EXPECT_TRUE(listener.sources.empty());
}

TEST(plan, with_kept_sources_targets_that_call_themselves_are_masqueraded) {
  Balancer balancer = a_balancer();
  EXPECT_TRUE(holding({balancer}).listeners.at(kWeb).masquerade);
  EXPECT_TRUE(holding({balancer}).listeners.at(kWeb).loops.empty());
  balancer.source_address = SourceAddress::keep;
  HeldListener listener = holding({balancer}).listeners.at(kWeb);
  EXPECT_FALSE(listener.masquerade);
  EXPECT_EQ(listener.loops, (std::vector{ip("10.0.0.1"), ip("10.0.0.2")}));
}

TEST(plan, what_others_serve_is_let_through_and_not_balanced) {
  Balancer balancer = a_balancer();
  balancer.announce_only = true;
  balancer.groups.clear();
  Held held = holding({balancer});
  EXPECT_EQ(held.listeners.at(kWeb), (HeldListener{.passed = true, .note = "prod/web 7"}));
  EXPECT_TRUE(held.guarded.contains(ip("192.0.2.1")));
}

TEST(plan, a_change_knows_the_targets_that_left) {
  Held held = holding({a_balancer()});
  Balancer changed = a_balancer();
  changed.groups[0][0].drain = true;
  Plan plan = make_plan(held, {.balancers = {changed}}).value();
  ASSERT_EQ(plan.listeners.size(), 1u);
  EXPECT_EQ(targets_left(plan.listeners[0]), std::vector{changed.groups[0][0].endpoint});
}

TEST(plan, damage_is_repaired_and_the_rest_stays) {
  Held held = holding({a_balancer()});
  HeldListener& listener = held.listeners[kWeb];
  Slots before = listener.slots;
  listener.slots[5] = {};
  listener.masquerade = false;
  carry_out(make_plan(held, {.balancers = {a_balancer()}}).value(), held);
  EXPECT_EQ(listener.slots, before);
  EXPECT_TRUE(listener.masquerade);

  held.structure = Structure::damaged;
  EXPECT_EQ(make_plan(held, {.balancers = {a_balancer()}})->text(), "build the chains and rules\n");
}

TEST(plan, what_cannot_be_is_refused_by_name) {
  auto refusal = [](auto change) {
    Balancer balancer = a_balancer();
    change(balancer);
    Result<Plan> plan = make_plan({}, {.balancers = {balancer, a_balancer()}});
    EXPECT_EQ(plan.outcome(), Outcome::invalid);
    return plan ? std::string() : plan.error().message;
  };
  EXPECT_EQ(refusal([](Balancer&) {}), "prod/web 7: tcp 192.0.2.1:80 is taken by prod/web 7");
  EXPECT_EQ(refusal([](Balancer& one) { one.listeners[0].port = 0; }),
            "prod/web 7: port 0 cannot be listened on");
  EXPECT_EQ(refusal([](Balancer& one) { one.listeners[0].group = 1; }),
            "prod/web 7: port 80 is served by no target group");
  EXPECT_TRUE(
      refusal([](Balancer& one) { one.note = std::string(201, 'x'); }).contains("201 bytes"));
  EXPECT_TRUE(refusal([](Balancer& one) {
                for (int i = 0; i < 513; ++i) {
                  IpPrefix range = prefix("10.0.0.0/24");
                  range.address.bytes[1] = static_cast<std::uint8_t>(i / 256);
                  range.address.bytes[2] = static_cast<std::uint8_t>(i % 256);
                  one.allowed_sources.push_back(range);
                }
              }).contains("513 ranges"));
}

Balancer random_balancer(Random& random) {
  Balancer balancer = a_balancer();
  balancer.note = "prod/web " + std::to_string(random.below(3));
  balancer.client_affinity = random.below(2) == 0;
  if (random.below(2) == 0) balancer.source_address = SourceAddress::keep;
  if (random.below(2) == 0) balancer.allowed_sources = {prefix("10.0.0.0/8")};
  for (Target& one : balancer.groups[0]) one.usable = random.below(3) > 0;
  return balancer;
}

TEST(plan, whatever_is_held_one_plan_makes_it_right) {
  constexpr std::uint64_t kRandomSeed = 20261129;
  SCOPED_TRACE(kRandomSeed);
  SeededRandom random(kRandomSeed);
  Held held;
  for (int round = 0; round < 300; ++round) {
    Wish wish;
    for (int number = 1; number <= 4; ++number) {
      if (random.below(2) == 0) continue;
      wish.balancers.push_back(random_balancer(random));
      wish.balancers.back().addresses = {ip("192.0.2." + std::to_string(number))};
    }
    if (random.below(2) == 0) wish.links = {prefix("10.0.0.0/24")};
    carry_out(make_plan(held, wish).value(), held);
    EXPECT_EQ(held.listeners.size(), wish.balancers.size());
    EXPECT_EQ(held.guarded.size(), wish.balancers.size());
    ASSERT_TRUE(make_plan(held, wish)->empty()) << make_plan(held, wish)->text();
  }
}

}  // namespace
}  // namespace isthmus::infra::drivers

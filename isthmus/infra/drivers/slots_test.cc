#include "isthmus/infra/drivers/slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "isthmus/base/random.h"

namespace isthmus::infra::drivers {
namespace {

using Targets = std::vector<WeightedEndpoint>;

constexpr std::uint64_t kSeed = 7;

Endpoint endpoint(std::size_t number) {
  IpAddress address = parse_ip("10.0.0.0").value();
  address.bytes[2] = static_cast<std::uint8_t>(number / 250);
  address.bytes[3] = static_cast<std::uint8_t>(number % 250 + 1);
  return {address, 30080};
}

Targets equal_targets(std::size_t count) {
  Targets targets;
  for (std::size_t i = 0; i < count; ++i) targets.push_back({endpoint(i), 1});
  return targets;
}

std::map<Endpoint, std::size_t> shares(const Slots& slots) {
  std::map<Endpoint, std::size_t> result;
  for (const Endpoint& owner : slots) ++result[owner];
  return result;
}

std::size_t moved(const Slots& before, const Slots& after) {
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < kSlots; ++slot) count += before[slot] != after[slot];
  return count;
}

TEST(slots, without_targets_nobody_owns_a_slot) {
  Slots full = fill_slots(equal_targets(3), {}, kSeed);
  EXPECT_EQ(fill_slots({}, full, kSeed), Slots{});
  EXPECT_EQ(fill_slots(Targets{{endpoint(1), 0}}, full, kSeed), Slots{});
}

TEST(slots, every_one_of_a_hundred_targets_owns_a_slot) {
  std::map<Endpoint, std::size_t> shared = shares(fill_slots(equal_targets(100), {}, kSeed));
  ASSERT_EQ(shared.size(), 100u);
  for (const auto& [owner, count] : shared) EXPECT_TRUE(count == 1 || count == 2);
}

TEST(slots, weights_are_shares) {
  Targets targets{{endpoint(0), 80}, {endpoint(1), 20}, {endpoint(2), 0}};
  std::map<Endpoint, std::size_t> shared = shares(fill_slots(targets, {}, kSeed));
  EXPECT_EQ(shared.size(), 2u);
  EXPECT_EQ(shared[endpoint(0)], 102u);
  EXPECT_EQ(shared[endpoint(1)], 26u);
}

TEST(slots, the_lightest_target_still_owns_one) {
  Targets targets{{endpoint(0), 4'000'000'000}, {endpoint(1), 1}};
  std::map<Endpoint, std::size_t> shared = shares(fill_slots(targets, {}, kSeed));
  EXPECT_EQ(shared[endpoint(0)], 127u);
  EXPECT_EQ(shared[endpoint(1)], 1u);
}

TEST(slots, a_target_named_twice_has_both_weights) {
  Targets targets{{endpoint(0), 1}, {endpoint(1), 2}, {endpoint(0), 1}};
  EXPECT_EQ(shares(fill_slots(targets, {}, kSeed))[endpoint(0)], 64u);
}

TEST(slots, the_same_question_has_the_same_answer_in_any_order) {
  Targets targets = equal_targets(300);
  Slots slots = fill_slots(targets, {}, kSeed);
  std::ranges::reverse(targets);
  EXPECT_EQ(fill_slots(targets, {}, kSeed), slots);
  EXPECT_NE(fill_slots(targets, {}, kSeed + 1), slots);
}

TEST(slots, what_is_right_stays) {
  Slots slots = fill_slots(equal_targets(50), {}, kSeed);
  EXPECT_EQ(fill_slots(equal_targets(50), slots, kSeed), slots);
}

TEST(slots, of_a_target_that_leaves_only_its_own_slots_move) {
  for (std::size_t count : {2u, 3u, 17u, 100u, 128u}) {
    Targets targets = equal_targets(count);
    Slots before = fill_slots(targets, {}, kSeed);
    std::size_t owned = shares(before)[targets.back().endpoint];
    targets.pop_back();
    EXPECT_EQ(moved(before, fill_slots(targets, before, kSeed)), owned) << count;
  }
}

TEST(slots, a_target_that_comes_takes_no_more_than_its_share) {
  for (std::size_t count : {1u, 3u, 16u, 99u, 127u}) {
    Slots before = fill_slots(equal_targets(count), {}, kSeed);
    Slots after = fill_slots(equal_targets(count + 1), before, kSeed);
    EXPECT_EQ(moved(before, after), shares(after)[endpoint(count)]) << count;
  }
}

TEST(slots, of_a_thousand_targets_the_same_128_are_served) {
  Targets targets = equal_targets(1000);
  Slots before = fill_slots(targets, {}, kSeed);
  EXPECT_EQ(shares(before).size(), kSlots);

  targets.push_back({endpoint(1000), 1});
  EXPECT_EQ(fill_slots(targets, before, kSeed), before) << "one that waits moves nobody";

  Endpoint failed = before[5];
  std::erase_if(targets, [&](const WeightedEndpoint& one) { return one.endpoint == failed; });
  Slots after = fill_slots(targets, before, kSeed);
  EXPECT_EQ(moved(before, after), 1u) << "one that fails is replaced";
  EXPECT_NE(after[5], failed);
}

TEST(slots, listeners_of_other_seeds_serve_other_targets) {
  std::map<Endpoint, std::size_t> served;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const Endpoint& owner : fill_slots(equal_targets(1000), {}, seed)) ++served[owner];
  }
  EXPECT_GT(served.size(), 990u);
}

// What must hold after any change, whatever was before.
void expect_fair(const Targets& targets, const Slots& slots) {
  std::map<Endpoint, std::size_t> shared = shares(slots);
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> range;  // By weight.
  std::size_t usable = 0;
  for (const WeightedEndpoint& target : targets) {
    if (target.weight == 0) {
      EXPECT_FALSE(shared.contains(target.endpoint));
      continue;
    }
    ++usable;
    std::size_t owned = shared.contains(target.endpoint) ? shared[target.endpoint] : 0;
    auto [entry, first] = range.try_emplace(target.weight, owned, owned);
    entry->second.first = std::min(entry->second.first, owned);
    entry->second.second = std::max(entry->second.second, owned);
  }
  EXPECT_EQ(shared.size(), usable == 0 ? 1 : std::min(usable, kSlots));
  EXPECT_EQ(shared.contains(Endpoint{}), usable == 0);
  for (const auto& [weight, owned] : range) {
    EXPECT_LE(owned.second - owned.first, 1u) << "weight " << weight;
  }
}

// No more slots than necessary: those that a target has too few of must come from somewhere, and
// every other slot stays.
void expect_few_moves(const Slots& before, const Slots& after) {
  std::map<Endpoint, std::size_t> had = shares(before);
  std::size_t necessary = 0;
  for (const auto& [owner, count] : shares(after)) {
    necessary += count - std::min(count, had[owner]);
  }
  EXPECT_EQ(moved(before, after), necessary);
}

TEST(slots, thousands_of_random_changes_leave_them_fair_and_move_few) {
  constexpr std::uint64_t kRandomSeed = 20261129;
  SCOPED_TRACE(kRandomSeed);
  SeededRandom random(kRandomSeed);
  for (int story = 0; story < 40; ++story) {
    std::size_t most = random.below(2) == 0 ? 12 : 250;
    std::map<Endpoint, std::uint32_t> weights;
    Slots slots{};
    for (int change = 0; change < 40; ++change) {
      Endpoint chosen = endpoint(random.below(most));
      if (random.below(4) == 0) {
        weights.erase(chosen);
      } else {
        weights[chosen] = static_cast<std::uint32_t>(random.below(2) == 0 ? 1 : random.below(5));
      }
      Targets targets;
      for (const auto& [owner, weight] : weights) targets.push_back({owner, weight});
      Slots next = fill_slots(targets, slots, kSeed);
      expect_fair(targets, next);
      expect_few_moves(slots, next);
      slots = next;
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace isthmus::infra::drivers

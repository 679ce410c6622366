// Ten thousand random lives of a ledger's addresses, each step held against the promises of
// allocator.h as somebody else would check them: slowly, one address at a time.
//
// The seed is printed at the start and with a failure, which rapidcheck shrinks to the fewest steps
// that show it; RC_PARAMS="seed=N" repeats a run.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <sstream>

#include "isthmus/infra/allocator.h"
#include "isthmus/infra/allocator_rules_testing.h"
#include "isthmus/infra/allocator_testing.h"
#include "isthmus/infra/balancer_codec.h"

namespace isthmus::infra {
namespace {

constexpr int kRuns = 10'000;
constexpr int kStepsMax = 50;  // What is wrong shows in far fewer.

struct Step {
  enum Kind { put, leave, finalize, pass_time, forget, restart, lose };
  Kind kind = put;
  int who = 0;
  int wish = 0;
  int sharing_key = 0;
  int ports = 0;
  int seconds = 0;
  int preferred = 0;  // Which of all addresses; behind the last one: none.

  friend std::ostream& operator<<(std::ostream& out, const Step& step) {
    constexpr std::array kNames = {"put",    "leave",   "finalize", "pass_time",
                                   "forget", "restart", "lose"};
    return out << fmt::format("{}(who {}, wish {}, key {}, ports {}, {} s, prefers {})",
                              kNames[step.kind], step.who, step.wish, step.sharing_key, step.ports,
                              step.seconds, step.preferred);
  }
};

rc::Gen<Step> any_step() {
  auto kind = rc::gen::weightedElement<Step::Kind>({{12, Step::put},
                                                    {4, Step::leave},
                                                    {5, Step::finalize},
                                                    {4, Step::pass_time},
                                                    {2, Step::forget},
                                                    {1, Step::restart},
                                                    {1, Step::lose}});
  // Numbers from the whole range however short the life is; rapidcheck would begin with small ones.
  auto below = [](int bound) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound));
  };
  return rc::gen::construct<Step>(kind, below(8), below(14), below(4),
                                  rc::gen::map(below(7), [](int set) { return set + 1; }),
                                  below(400), below(32));
}

std::vector<IpAddress> addresses_of(const LedgerSnapshot& snapshot, const Orphans& orphans,
                                    const ObjectName& name) {
  auto orphan = orphans.find(name);
  if (orphan != orphans.end()) return orphan->second.addresses;
  const BalancerRecord* balancer = snapshot.balancer(name);
  return balancer == nullptr ? std::vector<IpAddress>{} : balancer->addresses;
}

// One life: the ledger, and what somebody who only watches knows about it.
class Life {
 public:
  Life() {
    ledger.add_pool("public", kPublicRanges);
    ledger.add_pool("reserved", kReservedRanges, false);
  }

  void take(const Step& step) {
    before = ledger.snapshot;
    orphans_before = ledger.orphans;
    actor = name_of(step.who);
    const BalancerRecord* balancer = before.balancer(actor);
    bool is_leaving = balancer != nullptr && balancer->is_leaving();
    ledger.preferred = preferred_of(step.preferred);
    if (step.kind == Step::put) put(wish_of(step.wish, step.sharing_key, step.ports, step.seconds));
    if (step.kind == Step::leave && balancer != nullptr) ledger.leave(actor);
    if (step.kind == Step::finalize && is_leaving) ledger.finalize(actor);
    if (step.kind == Step::pass_time) ledger.now += std::chrono::seconds(step.seconds);
    if (step.kind == Step::forget) ledger.forget();
    if (step.kind == Step::restart) restart();
    if (step.kind == Step::lose && balancer != nullptr && lose()) return;
    bool is_same = ledger.snapshot.addresses.is_same_as(before.addresses) &&
                   ledger.snapshot.balancers.is_same_as(before.balancers);
    if (is_same) return;
    RC_ASSERT(wrong_with(ledger.snapshot) == "");
    RC_ASSERT(unlawful_change(before, ledger.snapshot, orphans_before, {actor}, ledger.now,
                              epochs) == "");
    for (const auto& [orphan, found] : ledger.orphans) {
      for (const IpAddress& address : found.addresses) {
        RC_ASSERT(holders_of(ledger.snapshot, address).empty());
      }
    }
  }

 private:
  // One address and the one after it, which may be of another pool or family.
  static Preferred preferred_of(int which) {
    const auto first = static_cast<std::size_t>(which);
    if (first >= all.size()) return {};
    return {all[first], all[(first + 1) % all.size()]};
  }

  void put(const api::LoadBalancerSpec& spec) {
    const std::string answer = ledger.put(actor, spec);
    const BalancerRecord* balancer = ledger.snapshot.balancer(actor);
    bool refused = balancer == nullptr || answer.contains(": ");
    if (refused) {
      RC_ASSERT(ledger.snapshot.addresses.is_same_as(before.addresses));
      RC_ASSERT(ledger.snapshot.balancers.is_same_as(before.balancers));
      if (answer.starts_with("pool-exhausted")) check_exhausted(spec);
      return;
    }
    if (!spec.addresses.empty()) {
      RC_ASSERT(balancer->addresses == spec.addresses);
      return;
    }
    RC_ASSERT(balancer->addresses.size() == spec.families.size());
    for (std::size_t i = 0; i < spec.families.size(); ++i) check_pick(spec, spec.families[i], i);
  }

  // What it had stays, and else it got the best there was.
  void check_pick(const api::LoadBalancerSpec& spec, IpFamily family, std::size_t index) {
    const IpAddress& picked = ledger.snapshot.balancer(actor)->addresses[index];
    RC_ASSERT(picked.family == family);
    bool had_some = false;
    for (const IpAddress& had : addresses_of(before, orphans_before, actor)) {
      if (had.family != family || (!spec.pool.empty() && spec.pool != pool_of(had))) continue;
      if (!had_some) RC_ASSERT(picked == had);
      had_some = true;
    }
    if (had_some) return;
    if (const IpAddress* wanted = best_preferred(spec, family)) {
      RC_ASSERT(picked == *wanted);
      return;
    }
    RC_ASSERT(could_have(picked, spec));
    RC_ASSERT(pool_of(picked) == (spec.pool.empty() ? "public" : spec.pool) || was_mine(picked));
    bool is_fresh = before.address(picked) == nullptr;
    for (const IpAddress& other : all) {
      if (other.family != family || pool_of(other) != pool_of(picked)) continue;
      if (!could_have(other, spec)) continue;
      if (was_mine(other)) RC_ASSERT(was_mine(picked));
      bool other_fresh = before.address(other) == nullptr;
      if (is_fresh && other_fresh) RC_ASSERT(picked <= other);
      bool was_shared = !holders_of(before, picked).empty() || was_mine(picked);
      if (!is_fresh && !was_shared) RC_ASSERT(!other_fresh);
    }
  }

  // nullptr: nothing, or what was its own a moment ago comes first.
  const IpAddress* best_preferred(const api::LoadBalancerSpec& spec, IpFamily family) const {
    for (const IpAddress& address : all) {
      const bool fits = spec.pool.empty() || pool_of(address) == spec.pool;
      if (address.family == family && fits && was_mine(address)) return nullptr;
    }
    for (const IpAddress& address : ledger.preferred) {
      const bool fits = spec.pool.empty() || pool_of(address) == spec.pool;
      if (address.family == family && fits && could_ask_for(address, spec)) return &address;
    }
    return nullptr;
  }

  void check_exhausted(const api::LoadBalancerSpec& spec) {
    bool one_family_has_none = false;
    for (IpFamily family : spec.families) {
      bool has_one = false;
      for (const IpAddress& had : addresses_of(before, orphans_before, actor)) {
        has_one =
            has_one || (had.family == family && (spec.pool.empty() || pool_of(had) == spec.pool));
      }
      for (const IpAddress& address : all) {
        bool fits = pool_of(address) == (spec.pool.empty() ? "public" : spec.pool);
        has_one = has_one || (address.family == family && fits && could_have(address, spec));
      }
      has_one = has_one || best_preferred(spec, family) != nullptr;
      one_family_has_none = one_family_has_none || !has_one;
    }
    RC_ASSERT(one_family_has_none);
  }

  static std::string pool_of(const IpAddress& address) {
    return address.family == IpFamily::v4 && address.bytes[3] >= 8 ? "reserved" : "public";
  }

  bool was_mine(const IpAddress& address) const {
    const AddressRecord* record = before.address(address);
    return record != nullptr && record->is_cooling(ledger.now) && record->owner == actor.owner &&
           record->last_holder == actor.name;
  }

  // By the rules, and without being asked for.
  bool could_have(const IpAddress& address, const api::LoadBalancerSpec& spec) const {
    static const IpAddress kAnycast = ip("2001:db8::");
    const bool is_held = !holders_of(before, address).empty();
    const bool is_passed_over = address == kAnycast && !is_held && !was_mine(address);
    return !is_passed_over && could_ask_for(address, spec);
  }

  bool could_ask_for(const IpAddress& address, const api::LoadBalancerSpec& spec) const {
    for (const auto& [orphan, found] : orphans_before) {
      if (orphan != actor && contains(found.addresses, address)) return false;
    }
    const AddressRecord* record = before.address(address);
    if (record == nullptr) return true;
    if (record->holders.empty()) return was_mine(address) || !record->is_cooling(ledger.now);
    if (record->owner != actor.owner || spec.sharing_key.empty()) return false;
    if (record->sharing_key != spec.sharing_key) return false;
    return std::ranges::none_of(record->holders, [&](const std::string& holder) {
      return holder != actor.name &&
             serve_one_port(before.balancer({actor.owner, holder})->spec, spec);
    });
  }

  // Everything is read again from what the store keeps.
  void restart() {
    LedgerSnapshot again;
    again.revision = before.revision;
    for (const auto& [name, record] : before.balancers) {
      auto read = decode_balancer_record(encode(*record), record->metadata.revision);
      again.balancers[name] = std::make_shared<const BalancerRecord>(read.value());
      RC_ASSERT(*again.balancers.look_up(name) == *record);
    }
    for (const auto& [name, record] : before.pools) {
      auto read = decode_pool_record(encode(*record), record->pool.revision);
      again.pools[name] = std::make_shared<const PoolRecord>(read.value());
    }
    for (const auto& [address, record] : before.addresses) {
      auto read = decode_address_record(encode(*record), record->revision);
      again.addresses[address] = std::make_shared<const AddressRecord>(read.value());
      RC_ASSERT(*again.addresses.look_up(address) == *record);
    }
    ledger.snapshot = std::move(again);
  }

  // The store is an old copy that has never heard of the actor: the kernel still serves it.
  bool lose() {
    const BalancerRecord* balancer = before.balancer(actor);
    for (const IpAddress& address : balancer->addresses) {
      if (holders_of(before, address).size() != 1) return false;
    }
    ledger.orphans[actor] = {.generation = 1, .addresses = balancer->addresses};
    for (const IpAddress& address : balancer->addresses) ledger.snapshot.addresses.erase(address);
    ledger.snapshot.balancers.erase(actor);
    return true;
  }

  TestLedger ledger;
  static inline const std::vector<IpAddress> all = all_addresses();
  Epochs epochs;

  LedgerSnapshot before;
  Orphans orphans_before;
  ObjectName actor;
};

TEST(allocator_property, no_address_is_held_twice_or_changes_by_itself_or_goes_without_cooling) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = kRuns;
  params.maxSize = kStepsMax;
  auto result = rc::detail::checkTestable(
      [] {
        Life life;
        for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) {
          life.take(step);
        }
      },
      rc::detail::TestMetadata(), params);
  std::ostringstream told;
  rc::detail::printResultMessage(result, told);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << told.str() << "\nseed " << params.seed;
}

}  // namespace
}  // namespace isthmus::infra

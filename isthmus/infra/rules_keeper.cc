#include "isthmus/infra/rules_keeper.h"

#include <malloc.h>

#include <algorithm>
#include <iterator>

namespace isthmus::infra {
namespace {

// On a host whose rules change all the time the caller comes back later.
constexpr int kAttemptsMax = 3;

void append(KernelDrift& drift, KernelDrift more) {
  std::ranges::move(more.listeners, std::back_inserter(drift.listeners));
  std::ranges::move(more.unguarded, std::back_inserter(drift.unguarded));
  std::ranges::move(more.guarded, std::back_inserter(drift.guarded));
  drift.structure |= more.structure;
  drift.links |= more.links;
}

drivers::HeldListener held_listener(const drivers::Held& held, const drivers::ListenerKey& key) {
  auto found = held.listeners.find(key);
  return found == held.listeners.end() ? drivers::HeldListener{} : found->second;
}

RulesKeeper::Applied all_failed(const RulesWork& work, Error error) {
  RulesKeeper::Applied applied;
  for (const RulesWork::Change& change : work.changes) applied.failures[change.name] = error;
  applied.error = std::move(error);
  return applied;
}

bool wants(const drivers::Balancer& balancer, const drivers::ListenerKey& key) {
  return std::ranges::find(balancer.addresses, key.address) != balancer.addresses.end() &&
         std::ranges::any_of(balancer.listeners, [&](const drivers::Listener& listener) {
           return listener.protocol == key.protocol && listener.port == key.port;
         });
}

// A change that fails half way then leaves what was served before.
void put_removals_last(drivers::Plan& plan) {
  std::vector<drivers::ListenerChange> sorted;
  std::vector<drivers::ListenerChange> removals;
  for (drivers::ListenerChange& change : plan.listeners) {
    const bool goes = change.to == drivers::HeldListener{};
    (goes ? removals : sorted).push_back(std::move(change));
  }
  std::ranges::move(removals, std::back_inserter(sorted));
  plan.listeners = std::move(sorted);
}

}  // namespace

Result<> RulesKeeper::look() {
  Result<drivers::Held> found = driver_.observe();
  if (!found && found.outcome() == Outcome::conflict) view_.replace({});
  if (!found) return std::unexpected(std::move(found).error());
  if (seen_) append(drift_, compare(view_.held(), *found));
  seen_ = true;
  view_.replace(std::move(*found));
  // For a moment all rules were here twice, and glibc would keep that.
  ::malloc_trim(0);
  return {};
}

drivers::KernelChanges RulesKeeper::take_changes() {
  listen();
  return std::exchange(told_, {});
}

void RulesKeeper::listen() {
  Result<drivers::KernelChanges> more = changes_.drain();
  // Without news anything may have changed.
  if (!more) {
    more = drivers::KernelChanges{.links = true, .addresses = true, .rules = true, .routes = true};
  }
  told_.links |= more->links;
  told_.addresses |= more->addresses;
  told_.rules |= more->rules;
  told_.routes |= more->routes;
}

RulesKeeper::Failures RulesKeeper::refuse(RulesWork& work) const {
  Failures failures;
  if (plan(work)) return failures;
  std::erase_if(work.changes, [&](const RulesWork::Change& change) {
    RulesWork alone = work.without_changes();
    alone.changes.push_back(change);
    Result<drivers::Plan> planned = plan(alone);
    if (!planned) failures[change.name] = planned.error();
    return !planned;
  });
  return failures;
}

Result<drivers::Plan> RulesKeeper::plan(const RulesWork& work) const {
  drivers::Wish wish;
  wish.rest = drivers::Rest::keep;
  for (const RulesWork::Change& change : work.changes) {
    for (const drivers::ListenerKey& key : view_.keys_of(change.name)) {
      const bool others = work.claims != nullptr && work.claims->contains(key) &&
                          work.claims->at(key) != change.name;
      if (others || work.stuck.contains(key.address)) continue;
      if (!change.balancer || !wants(*change.balancer, key)) wish.gone.push_back(key);
    }
    if (change.balancer) wish.balancers.push_back(*change.balancer);
  }
  wish.unguarded.assign(work.unguarded.begin(), work.unguarded.end());
  const drivers::Held& held = view_.held();
  drivers::Plan plan = TRY(drivers::make_plan(held, wish));
  for (const IpAddress& address : work.guarded) {
    if (!held.guarded.contains(address)) plan.guarded_added.push_back(address);
  }
  std::ranges::sort(plan.guarded_added);
  auto repeated = std::ranges::unique(plan.guarded_added);
  plan.guarded_added.erase(repeated.begin(), repeated.end());
  std::set<drivers::ListenerKey> planned;
  for (const drivers::ListenerChange& change : plan.listeners) planned.insert(change.key);
  for (const auto& [key, listener] : work.restored) {
    // What somebody serves by now is not taken away for having been unknown once.
    const bool claimed = work.claims != nullptr && work.claims->contains(key);
    if (claimed && listener == drivers::HeldListener{}) continue;
    drivers::HeldListener present = held_listener(held, key);
    if (!planned.contains(key) && present != listener) {
      plan.listeners.push_back({key, std::move(present), listener});
    }
  }
  put_removals_last(plan);
  std::ranges::set_difference(held.links, work.links, std::back_inserter(plan.links_removed));
  std::ranges::set_difference(work.links, held.links, std::back_inserter(plan.links_added));
  return plan;
}

RulesKeeper::Applied RulesKeeper::apply(RulesWork work) {
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Result<drivers::Plan> planned = plan(work);
    if (!planned) return apply_apart(std::move(work), std::move(planned).error());
    if (planned->empty()) return {};
    Result<> done = carry_out(*planned);
    if (done) return {};
    if (done.outcome() == Outcome::invalid) {
      return apply_apart(std::move(work), std::move(done).error());
    }
    if (done.outcome() != Outcome::conflict && done.outcome() != Outcome::lost) {
      return all_failed(work, std::move(done).error());
    }
    if (Result<> seen = look(); !seen) return all_failed(work, std::move(seen).error());
    if (done.outcome() == Outcome::lost) return all_failed(work, std::move(done).error());
  }
  return all_failed(work, {Outcome::busy,
                           "other programs change the rules of this host all the "
                           "time"});
}

// Others' changes to tables of their own move the generation as well; where the kernel told of none
// to ours, what we know of ours stands. While we change much, it is not asked to tell.
Result<> RulesKeeper::carry_out(const drivers::Plan& plan) {
  const std::uint32_t before = TRY(driver_.generation());
  listen();
  if (!told_.rules) view_.trust(before);
  changes_.ignore_rules(true);
  Result<> done = view_.apply(plan, driver_);
  changes_.ignore_rules(false);
  const Result<std::uint32_t> after = driver_.generation();
  const bool all_ours = done && after && *after == view_.held().generation;
  if (!all_ours) told_.rules = true;
  return done;
}

// Each by itself, so that only who causes the error has it. Who goes comes behind those who may
// take its place, and keeps it where that failed; what takes guards away comes last.
RulesKeeper::Applied RulesKeeper::apply_apart(RulesWork work, Error error) {
  const bool rest = !work.restored.empty() || !work.guarded.empty() || !work.unguarded.empty();
  if (work.changes.size() + (rest ? 1 : 0) <= 1) return all_failed(work, std::move(error));
  Applied applied;
  std::vector<RulesWork::Change> changes = std::exchange(work.changes, {});
  std::ranges::partition(changes,
                         [](const RulesWork::Change& one) { return one.balancer.has_value(); });
  for (RulesWork::Change& change : changes) {
    RulesWork alone = work.without_changes();
    alone.changes.push_back(change);
    Failures failures = apply(std::move(alone)).failures;
    if (!failures.empty() && change.balancer) {
      work.stuck.insert(change.balancer->addresses.begin(), change.balancer->addresses.end());
    }
    applied.failures.merge(std::move(failures));
  }
  if (rest) applied.error = apply(std::move(work)).error;
  return applied;
}

// Only what the planning of any single change depends on.
RulesWork RulesWork::without_changes() const {
  RulesWork work;
  work.stuck = stuck;
  work.links = links;
  work.claims = claims;
  return work;
}

}  // namespace isthmus::infra

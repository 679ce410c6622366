#include "isthmus/providers/fake/fake_load_balancers.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/scope.h"
#include "isthmus/providers/fake/fake_changes.h"
#include "isthmus/providers/fake/fake_target_sets.h"

namespace isthmus::providers::fake {

using cloud::LoadBalancerNews;
using cloud::LoadBalancerPreview;
using cloud::LoadBalancerSpec;
using cloud::LoadBalancerState;

FakeLoadBalancers::~FakeLoadBalancers() {
  ISTHMUS_ASSERT(followers_.empty(), "somebody follows a cloud that is gone");
}

Task<Result<LoadBalancerState>> FakeLoadBalancers::ensure(LoadBalancerSpec spec) {
  ++ensures;
  CO_TRY(co_await calls_.suffer());
  Scope& here = co_await current_scope();
  const Moment now = here.loop().now();
  catch_up(now);
  CO_TRY(validate(spec));
  const auto found = standing.find(spec.name);
  const bool stands = found != standing.end() && !found->second.gone_at;
  LoadBalancerSpec asked = spec;
  asked.preferred_addresses.clear();
  if (!stands || found->second.spec != asked) {
    const std::vector<IpAddress> has =
        found == standing.end() ? std::vector<IpAddress>() : found->second.addresses;
    std::vector<IpAddress> gets_addresses =
        CO_TRY(pool_in_use_->allocate(holder(spec.name), spec, has));
    FakeBalancer& balancer = standing[spec.name];
    balancer.spec = std::move(asked);
    balancer.addresses = std::move(gets_addresses);
    balancer.generation = std::max(balancer.generation, last_generations_[spec.name]) + 1;
    balancer.revision = ++revision_;
    balancer.settles_at = later(now, settle_after);
    balancer.settled = settle_after == Duration::zero();
    balancer.gone_at.reset();
    ++writes;
    tell(LoadBalancerNews::Kind::changed, {state_of(spec.name)});
  }
  CO_TRY(calls_.deliver());
  co_return state_of(spec.name);
}

Task<Result<>> FakeLoadBalancers::release(std::string name) {
  ++releases;
  CO_TRY(co_await calls_.suffer());
  Scope& here = co_await current_scope();
  const Moment now = here.loop().now();
  catch_up(now);
  const auto found = standing.find(name);
  if (found == standing.end()) {
    CO_TRY(calls_.deliver());
    co_return {};
  }
  FakeBalancer& balancer = found->second;
  if (release_takes == Duration::zero()) {
    forget(found);
    CO_TRY(calls_.deliver());
    co_return {};
  }
  if (!balancer.gone_at) {
    balancer.gone_at = later(now, release_takes);
    balancer.settled = false;
    balancer.revision = ++revision_;
    tell(LoadBalancerNews::Kind::changed, {state_of(name)});
  }
  const Duration remains = *balancer.gone_at - now;
  CO_TRY(calls_.deliver());
  co_return fail(Outcome::busy, fmt::format("{} is being released", name), remains);
}

Task<Result<LoadBalancerState>> FakeLoadBalancers::get(std::string name) {
  ++gets;
  CO_TRY(co_await calls_.suffer());
  Scope& here = co_await current_scope();
  catch_up(here.loop().now());
  CO_TRY(calls_.deliver());
  if (!standing.contains(name)) co_return fail(Outcome::absent, "there is no " + name);
  co_return state_of(name);
}

Task<Result<cloud::Listing<LoadBalancerState>>> FakeLoadBalancers::list() {
  ++lists;
  CO_TRY(co_await calls_.suffer());
  Scope& here = co_await current_scope();
  catch_up(here.loop().now());
  CO_TRY(calls_.deliver());
  cloud::Listing<LoadBalancerState> answer{everything().states, cloud::Completeness::complete};
  const Faults& faults = calls_.faults;
  if (faults.list_only && *faults.list_only < answer.items.size()) {
    answer.items.resize(*faults.list_only);
    if (!faults.partial_list_claims_to_be_complete) {
      answer.completeness = cloud::Completeness::partial;
    }
  }
  co_return answer;
}

Task<Result<LoadBalancerPreview>> FakeLoadBalancers::preview(LoadBalancerSpec spec) {
  ++previews;
  CO_TRY(co_await calls_.suffer());
  Scope& here = co_await current_scope();
  catch_up(here.loop().now());
  CO_TRY(calls_.deliver());
  CO_TRY(validate(spec));
  const auto found = standing.find(spec.name);
  LoadBalancerPreview preview;
  const std::vector<IpAddress> has =
      found == standing.end() ? std::vector<IpAddress>() : found->second.addresses;
  spec.preferred_addresses.clear();
  const bool stands = found != standing.end() && !found->second.gone_at;
  if (stands && found->second.spec == spec) {
    preview.addresses = has;
    co_return preview;
  }
  preview.addresses = CO_TRY(pool_in_use_->choose(holder(spec.name), spec, has));
  preview.effect =
      stands ? LoadBalancerPreview::Effect::changed : LoadBalancerPreview::Effect::created;
  preview.changes = changes_of(stands ? found->second.spec : LoadBalancerSpec{}, spec);
  co_return preview;
}

Task<Result<>> FakeLoadBalancers::follow(std::function<void(LoadBalancerNews)> tell) {
  ++follows;
  CO_TRY(co_await calls_.suffer());
  if (!tells) co_return fail(Outcome::unsupported, "this cloud does not say what happens");
  Scope& here = co_await current_scope();
  catch_up(here.loop().now());
  Follower follower(followers_);
  follower.hear(everything());
  Result<> ended = co_await follower.listen(
      std::move(tell), [this] { return next_event(); }, [this](Moment now) { catch_up(now); });
  co_return ended;
}

void FakeLoadBalancers::touched(std::string_view name, bool asked_for) {
  FakeBalancer& balancer = standing.find(name)->second;
  balancer.revision = ++revision_;
  if (asked_for) ++balancer.generation;
  tell(LoadBalancerNews::Kind::changed, {state_of(name)});
}

void FakeLoadBalancers::repaired(std::string_view name, std::string what) {
  FakeBalancer& balancer = standing.find(name)->second;
  ++balancer.repairs;
  balancer.last_repair = std::move(what);
  touched(name);
}

void FakeLoadBalancers::take_away(std::string_view name) { forget(standing.find(name)); }

void FakeLoadBalancers::take_all_away() {
  while (!standing.empty()) forget(standing.begin());
}

void FakeLoadBalancers::resources_changed() { tell(LoadBalancerNews::Kind::resources, {}); }

void FakeLoadBalancers::cut_follows() {
  for (Follower* follower : followers_) follower->cut();
}

LoadBalancerState FakeLoadBalancers::state_of(std::string_view name) const {
  const auto& [full_name, balancer] = *standing.find(name);
  LoadBalancerState state{.name = full_name,
                          .labels = balancer.spec.labels,
                          .addresses = balancer.addresses,
                          .settled = balancer.settled,
                          .is_leaving = balancer.gone_at.has_value(),
                          .must_be_passed = balancer.must_be_passed,
                          .generation = balancer.generation,
                          .revision = balancer.revision,
                          .health = balancer.health,
                          .repairs = balancer.repairs,
                          .last_repair = balancer.last_repair,
                          .problems = balancer.problems,
                          .facts = balancer.facts};
  const auto set = sets_.standing.find(balancer.spec.target_set);
  state.targets =
      set == sets_.standing.end() ? balancer.spec.targets.size() : set->second.targets.size();
  return state;
}

Result<> FakeLoadBalancers::validate(const LoadBalancerSpec& spec) const {
  if (spec.name.empty()) return fail(Outcome::invalid, "name: a load balancer has one");
  if (spec.families.empty() && spec.requested_addresses.empty()) {
    return fail(Outcome::invalid, "families: at least one");
  }
  if (spec.listeners.empty()) return fail(Outcome::invalid, "listeners: at least one");
  std::set<std::pair<cloud::Protocol, std::uint16_t>> ports;
  for (const LoadBalancerSpec::Listener& listener : spec.listeners) {
    if (listener.port == 0 || listener.target_port == 0) {
      return fail(Outcome::invalid, fmt::format("listener {}: 0 is no port", listener.name));
    }
    if (!ports.insert({listener.protocol, listener.port}).second) {
      return fail(Outcome::invalid, fmt::format("listener {}: port {} is listened on twice",
                                                listener.name, listener.port));
    }
  }
  if (!spec.target_set.empty() && !sets_.standing.contains(spec.target_set)) {
    return fail(Outcome::invalid,
                fmt::format("there is no target set {}; make it first", spec.target_set));
  }
  return {};
}

void FakeLoadBalancers::catch_up(Moment now) {
  for (auto entry = standing.begin(); entry != standing.end();) {
    const auto next = std::next(entry);
    FakeBalancer& balancer = entry->second;
    if (balancer.gone_at && *balancer.gone_at <= now) {
      forget(entry);
    } else if (!balancer.gone_at && !balancer.settled && balancer.settles_at <= now) {
      balancer.settled = true;
      balancer.revision = ++revision_;
      tell(LoadBalancerNews::Kind::changed, {state_of(entry->first)});
    }
    entry = next;
  }
}

std::optional<Moment> FakeLoadBalancers::next_event() const {
  std::optional<Moment> next;
  for (const auto& [name, balancer] : standing) {
    if (!balancer.gone_at && balancer.settled) continue;
    const Moment event = balancer.gone_at.value_or(balancer.settles_at);
    if (event == Moment::max()) continue;  // Never.
    if (!next || event < *next) next = event;
  }
  return next;
}

void FakeLoadBalancers::tell(LoadBalancerNews::Kind kind, std::vector<LoadBalancerState> states) {
  for (Follower* follower : followers_) follower->hear({kind, states});
}

LoadBalancerNews FakeLoadBalancers::everything() const {
  LoadBalancerNews all{.kind = LoadBalancerNews::Kind::everything};
  for (const auto& [name, balancer] : standing) all.states.push_back(state_of(name));
  return all;
}

void FakeLoadBalancers::forget(std::map<std::string, FakeBalancer, std::less<>>::iterator gone) {
  const std::string name = gone->first;
  gone->second.revision = ++revision_;
  LoadBalancerState last = state_of(name);
  last_generations_[name] = gone->second.generation;
  standing.erase(gone);
  tell(LoadBalancerNews::Kind::removed, {std::move(last)});
  if (pool_in_use_->free_all_of(holder(name))) resources_changed();
}

}  // namespace isthmus::providers::fake

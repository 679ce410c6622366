#include "isthmus/cloud/dry_run_balancers.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

using Effect = LoadBalancerPreview::Effect;
using Change = LoadBalancerPreview::Change;

// More of them are counted: a line for people has a limit.
constexpr std::size_t kChangesShown = 20;

bool is_as_it_was(const LoadBalancerState& before, const LoadBalancerState& now) {
  return before.generation == now.generation && before.is_leaving == now.is_leaving;
}

// "/spec/listeners/0/port: 80 -> 81; 3 more".
std::string text_of(const std::vector<Change>& changes) {
  std::string text;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i == kChangesShown) return text + fmt::format("; {} more", changes.size() - i);
    const Change& change = changes[i];
    text += fmt::format("{}{}: {} -> {}", i == 0 ? "" : "; ", change.part,
                        change.from.empty() ? "nothing" : change.from,
                        change.to.empty() ? "nothing" : change.to);
  }
  return text;
}

std::string text_of(const std::vector<IpAddress>& addresses) {
  std::string text;
  for (const IpAddress& address : addresses) {
    text += (text.empty() ? "" : ", ") + to_string(address);
  }
  return text;
}

std::string text_of(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key, value);
  }
  return text;
}

// The load balancer as it would be.
LoadBalancerState imagined(const LoadBalancerSpec& spec, const LoadBalancerPreview& preview,
                           const std::optional<LoadBalancerState>& real) {
  LoadBalancerState state = real.value_or(LoadBalancerState{.name = spec.name});
  state.labels = spec.labels;
  if (!preview.addresses.empty()) state.addresses = preview.addresses;
  state.settled = !state.addresses.empty();
  state.is_leaving = false;
  state.problems.clear();
  state.unfinished.clear();
  return state;
}

}  // namespace

DryRunTargetSets::DryRunTargetSets(TargetSets& next, Logger& log) : next_(next), log_(log) {}

Task<Result<>> DryRunTargetSets::ensure(TargetSetSpec spec) {
  const TargetSetPreview preview = CO_TRY(co_await next_.preview(spec));
  imagined_.erase(spec.name);
  if (preview.effect == Effect::unchanged) {
    told_.erase(spec.name);
    co_return Result<>{};
  }
  const bool is_new = preview.effect == Effect::created;
  std::string wish =
      is_new ? fmt::format("{} targets", spec.targets.size()) : text_of(preview.changes);
  if (std::exchange(told_[spec.name], wish) != wish) {
    log_.info(is_new ? "would create target set" : "would change target set",
              {{"name", spec.name}, {"targets", spec.targets.size()}, {"changes", wish}});
  }
  const std::string name = spec.name;
  if (is_new) imagined_[name] = std::move(spec);
  co_return Result<>{};
}

// Whether there is one is asked in the only way there is: what an empty one would do.
Task<Result<>> DryRunTargetSets::release(std::string name) {
  const TargetSetPreview preview = CO_TRY(co_await next_.preview({.name = name}));
  imagined_.erase(name);
  if (preview.effect == Effect::created) {
    told_.erase(name);
    co_return Result<>{};
  }
  if (std::exchange(told_[name], "release") != "release") {
    log_.info("would release target set", {{"name", name}});
  }
  co_return Result<>{};
}

Task<Result<TargetSetPreview>> DryRunTargetSets::preview(TargetSetSpec spec) {
  return next_.preview(std::move(spec));
}

const std::vector<Target>* DryRunTargetSets::imagined(std::string_view name) const {
  const auto found = imagined_.find(name);
  return found == imagined_.end() ? nullptr : &found->second.targets;
}

DryRunLoadBalancers::DryRunLoadBalancers(LoadBalancers& next, const DryRunTargetSets* sets,
                                         Logger& log)
    : next_(next), sets_(sets), log_(log), imagination_(is_as_it_was) {}

Task<Result<std::optional<LoadBalancerState>>> DryRunLoadBalancers::real(std::string name) {
  Result<LoadBalancerState> state = co_await next_.get(std::move(name));
  if (state) co_return *std::move(state);
  if (state.outcome() == Outcome::absent) co_return std::nullopt;
  co_return std::unexpected(std::move(state).error());
}

Task<Result<LoadBalancerState>> DryRunLoadBalancers::ensure(LoadBalancerSpec spec) {
  const LoadBalancerPreview effect = CO_TRY(co_await preview(spec));
  std::optional<LoadBalancerState> now = CO_TRY(co_await real(spec.name));
  if (effect.effect == Effect::unchanged && now) {
    imagination_.forget(spec.name);
    co_return *std::move(now);
  }
  LoadBalancerState state = imagined(spec, effect, now);
  const bool is_new = !now;
  const std::string addresses = text_of(state.addresses);
  const std::string changes = text_of(effect.changes);
  const std::string wish = fmt::format("{}\n{}\n{}", is_new, addresses, changes);
  if (imagination_.imagine(spec.name, std::move(now), state, wish)) {
    log_.info(is_new ? "would create load balancer" : "would change load balancer",
              {{"name", spec.name},
               {"labels", text_of(spec.labels)},
               {"addresses", addresses},
               {"changes", changes}});
  }
  co_return std::move(state);
}

Task<Result<>> DryRunLoadBalancers::release(std::string name) {
  std::optional<LoadBalancerState> now = CO_TRY(co_await real(name));
  if (!now) {
    imagination_.forget(name);
    co_return Result<>{};
  }
  const std::string labels = text_of(now->labels);
  const std::string addresses = text_of(now->addresses);
  if (imagination_.imagine(name, std::move(now), std::nullopt, "release")) {
    log_.info("would release load balancer",
              {{"name", name}, {"labels", labels}, {"addresses", addresses}});
  }
  co_return Result<>{};
}

Task<Result<LoadBalancerState>> DryRunLoadBalancers::get(std::string name) {
  std::optional<LoadBalancerState> now = CO_TRY(co_await real(name));
  std::optional<LoadBalancerState> state = imagination_.look(name, std::move(now));
  if (!state) co_return fail(Outcome::absent, "there is no load balancer " + name);
  co_return *std::move(state);
}

Task<Result<Listing<LoadBalancerState>>> DryRunLoadBalancers::list() {
  Listing<LoadBalancerState> all = CO_TRY(co_await next_.list());
  all.items = imagination_.look_over(std::move(all.items),
                                     [](const LoadBalancerState& state) { return state.name; });
  co_return all;
}

// A set of targets that stands in thought only is told inline: the cloud does not know it.
Task<Result<LoadBalancerPreview>> DryRunLoadBalancers::preview(LoadBalancerSpec spec) {
  const std::vector<Target>* targets =
      sets_ == nullptr || spec.target_set.empty() ? nullptr : sets_->imagined(spec.target_set);
  if (targets != nullptr) {
    spec.targets = *targets;
    spec.target_set.clear();
  }
  return next_.preview(std::move(spec));
}

Task<Result<>> DryRunLoadBalancers::follow(std::function<void(LoadBalancerNews)> tell) {
  return next_.follow(
      [this, tell = std::move(tell)](LoadBalancerNews news) { tell(shown(std::move(news))); });
}

LoadBalancerNews DryRunLoadBalancers::shown(LoadBalancerNews news) {
  using Kind = LoadBalancerNews::Kind;
  const auto name_of = [](const LoadBalancerState& state) { return state.name; };
  if (news.kind == Kind::everything) {
    news.states = imagination_.look_over(std::move(news.states), name_of);
  }
  if (news.kind != Kind::changed) return news;
  std::vector<LoadBalancerState> states;
  for (LoadBalancerState& each : news.states) {
    const std::string name = each.name;
    if (auto state = imagination_.look(name, std::move(each))) states.push_back(*std::move(state));
  }
  news.states = std::move(states);
  return news;
}

}  // namespace isthmus::cloud

#include "isthmus/providers/fake/fake_route_tables.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/scope.h"

namespace isthmus::providers::fake {

using cloud::Route;
using cloud::RouteState;
using cloud::RouteTableSpec;
using cloud::RouteTableState;
using News = std::optional<RouteTableState>;

FakeRouteTables::~FakeRouteTables() {
  ISTHMUS_ASSERT(followers_.empty(), "somebody follows a cloud that is gone");
}

Task<Result<RouteTableState>> FakeRouteTables::ensure(RouteTableSpec spec) {
  ++ensures;
  CO_TRY(co_await calls_.suffer());
  if (!supported) co_return fail(Outcome::unsupported, "this cloud has no routes");
  Scope& here = co_await current_scope();
  catch_up(here.loop().now());
  CO_TRY(validate(spec));
  const std::string name = spec.name;
  std::vector<RouteState> never;
  std::erase_if(spec.routes, [&](const Route& route) {
    if (!refused.contains(route.destination)) return false;
    never.push_back({.destination = route.destination,
                     .instance = route.instance,
                     .next_hop = route.next_hop,
                     .standing = RouteState::Standing::refused,
                     .reason = "Refused",
                     .message = "this destination will never do"});
    return true;
  });
  const auto found = standing.find(name);
  if (found == standing.end() || found->second.spec != spec || found->second.gone_at) {
    FakeRouteTable& table = standing[name];
    table.spec = std::move(spec);
    table.generation = std::max(table.generation, last_generations_[name]) + 1;
    table.gone_at.reset();
    table.due = later(here.loop().now(), apply_after);
    ++writes;
    catch_up(here.loop().now());
    tell(name);
  }
  CO_TRY(calls_.deliver());
  RouteTableState state = state_of(name);
  state.routes.insert(state.routes.end(), never.begin(), never.end());
  std::ranges::sort(state.routes, {}, &RouteState::destination);
  co_return state;
}

Task<Result<RouteTableState>> FakeRouteTables::get(std::string name) {
  ++gets;
  CO_TRY(co_await calls_.suffer());
  if (!supported) co_return fail(Outcome::unsupported, "this cloud has no routes");
  Scope& here = co_await current_scope();
  catch_up(here.loop().now());
  CO_TRY(calls_.deliver());
  if (!standing.contains(name)) co_return fail(Outcome::absent, "there is no " + name);
  co_return state_of(name);
}

Task<Result<>> FakeRouteTables::release(std::string name) {
  ++releases;
  CO_TRY(co_await calls_.suffer());
  if (!supported) co_return fail(Outcome::unsupported, "this cloud has no routes");
  Scope& here = co_await current_scope();
  const Moment now = here.loop().now();
  catch_up(now);
  if (const auto found = standing.find(name); found != standing.end()) {
    if (!found->second.gone_at) found->second.gone_at = later(now, apply_after);
    catch_up(now);
    if (standing.contains(name)) tell(name);
  }
  CO_TRY(calls_.deliver());
  if (!standing.contains(name)) co_return {};
  co_return fail(Outcome::busy, fmt::format("{} is being released", name),
                 *standing.find(name)->second.gone_at - now);
}

Task<Result<>> FakeRouteTables::follow(std::string name, Tell tell) {
  ++follows;
  CO_TRY(co_await calls_.suffer());
  if (!supported || !tells) co_return fail(Outcome::unsupported, "this cloud tells nothing");
  Scope& here = co_await current_scope();
  catch_up(here.loop().now());
  Follower follower(followers_, name);
  follower.hear(standing.contains(name) ? News(state_of(name)) : std::nullopt);
  Result<> ended = co_await follower.listen(
      std::move(tell), [this] { return next_event(); }, [this](Moment now) { catch_up(now); });
  co_return ended;
}

void FakeRouteTables::touched(std::string_view name, bool asked_for) {
  const auto found = standing.find(name);
  if (found != standing.end()) {
    if (asked_for) ++found->second.generation;
    if (!found->second.due) put_into_effect(found->second);
  }
  tell(std::string(name));
}

void FakeRouteTables::cut_follows() {
  for (Follower* follower : followers_) follower->cut();
}

RouteTableState FakeRouteTables::state_of(std::string_view name) const {
  const auto& [full_name, table] = *standing.find(name);
  RouteTableState state{.name = full_name,
                        .ranges = table.spec.ranges,
                        .settled = !table.due && !table.gone_at,
                        .is_leaving = table.gone_at.has_value(),
                        .generation = table.generation};
  for (const Route& route : table.spec.routes) state.routes.push_back(state_of(table, route));
  std::ranges::sort(state.routes, {}, &RouteState::destination);
  return state;
}

RouteState FakeRouteTables::state_of(const FakeRouteTable& table, const Route& route) const {
  RouteState state{
      .destination = route.destination, .instance = route.instance, .next_hop = route.next_hop};
  const auto found = router_.standing.find(route.destination);
  if (found != router_.standing.end() && found->second.is_foreign) {
    state.standing = RouteState::Standing::conflict;
    state.reason = "ForeignRoute";
    state.message = "somebody else's route is in its way";
  } else if (!is_known(route)) {
    state.reason = "InstanceUnknown";
    state.message = "there is no machine " + to_string(*route.instance);
  } else if (router_.down.contains(route.destination)) {
    state.reason = "LinkDown";
    state.message = "the link to the next hop is down";
  } else if (found != router_.standing.end() && table.applied.contains(route.destination) &&
             found->second == FakeRoute{route.instance, route.next_hop}) {
    state.standing = RouteState::Standing::applied;
  }
  return state;
}

Result<> FakeRouteTables::validate(const RouteTableSpec& spec) const {
  if (spec.name.empty()) return fail(Outcome::invalid, "name: a table has one");
  for (const IpPrefix& range : spec.ranges) {
    if (neighbour_ == nullptr) break;
    for (const auto& [name, table] : neighbour_->standing) {
      for (const IpPrefix& theirs : table.spec.ranges) {
        if (!theirs.contains(range) && !range.contains(theirs)) continue;
        return fail(Outcome::conflict, fmt::format("{} is in use by {}", to_string(range), name));
      }
    }
  }
  std::set<IpPrefix> seen;
  for (const Route& route : spec.routes) {
    const auto holds = [&](const IpPrefix& range) { return range.contains(route.destination); };
    if (!std::ranges::any_of(spec.ranges, holds)) {
      return fail(Outcome::invalid,
                  fmt::format("{} is in no range of the table", to_string(route.destination)));
    }
    if (!seen.insert(route.destination).second) {
      return fail(Outcome::invalid, fmt::format("{} is there twice", to_string(route.destination)));
    }
  }
  return {};
}

bool FakeRouteTables::is_known(const Route& route) const {
  return !route.instance || std::ranges::find(machines_, *route.instance,
                                              &cloud::Instance::provider_id) != machines_.end();
}

// Additions and replacements first, then what is no longer wanted.
void FakeRouteTables::put_into_effect(FakeRouteTable& table) {
  std::set<IpPrefix> wanted;
  for (const Route& route : table.spec.routes) {
    wanted.insert(route.destination);
    const auto found = router_.standing.find(route.destination);
    if (found != router_.standing.end() && found->second.is_foreign) continue;
    if (!is_known(route)) continue;  // What stands there stays.
    if (router_.down.contains(route.destination)) {
      router_.take(route.destination);
      continue;
    }
    router_.put(route.destination, {route.instance, route.next_hop});
    table.applied.insert(route.destination);
  }
  for (const IpPrefix& destination : std::exchange(table.applied, {})) {
    const auto found = router_.standing.find(destination);
    const bool is_ours = found != router_.standing.end() && !found->second.is_foreign;
    if (!wanted.contains(destination) && is_ours) router_.take(destination);
    if (wanted.contains(destination) && is_ours) table.applied.insert(destination);
  }
}

void FakeRouteTables::catch_up(Moment now) {
  for (auto entry = standing.begin(); entry != standing.end();) {
    const auto next = std::next(entry);
    FakeRouteTable& table = entry->second;
    if (table.gone_at && *table.gone_at <= now) {
      const std::string name = entry->first;
      table.spec.routes.clear();
      put_into_effect(table);
      last_generations_[name] = table.generation;
      standing.erase(entry);
      tell(name);
    } else if (table.due && *table.due <= now) {
      table.due.reset();
      put_into_effect(table);
      tell(entry->first);
    }
    entry = next;
  }
}

std::optional<Moment> FakeRouteTables::next_event() const {
  std::optional<Moment> next;
  for (const auto& [name, table] : standing) {
    for (const std::optional<Moment>& event : {table.due, table.gone_at}) {
      if (event && *event != Moment::max() && (!next || *event < *next)) next = event;
    }
  }
  return next;
}

void FakeRouteTables::tell(const std::string& name) {
  for (Follower* follower : followers_) {
    if (follower->about != name) continue;
    follower->hear(standing.contains(name) ? News(state_of(name)) : std::nullopt);
  }
}

}  // namespace isthmus::providers::fake

#include "isthmus/cloud/dry_run_routes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

// More of them are counted: a line for people has a limit.
constexpr std::size_t kChangesShown = 20;

bool is_same_table(const RouteTableState& before, const RouteTableState& now) {
  return before.generation == now.generation && before.is_leaving == now.is_leaving;
}

bool is_same_route(const RouteState& before, const RouteState& now) {
  return before.instance == now.instance && before.next_hop == now.next_hop &&
         before.is_foreign == now.is_foreign;
}

std::string text_of(const Route& route) {
  std::string text = to_string(route.destination);
  if (route.instance) text += " via " + to_string(*route.instance);
  if (route.next_hop) text += " at " + to_string(*route.next_hop);
  return text;
}

RouteState applied(const Route& route) {
  return {.destination = route.destination,
          .instance = route.instance,
          .next_hop = route.next_hop,
          .standing = RouteState::Standing::applied};
}

// "+10.244.1.0/24 via isthmus://m1; ~10.244.2.0/24 via isthmus://m2; -10.244.3.0/24"; empty: none.
std::string difference(const RouteTableState& now, const RouteTableSpec& wanted) {
  std::vector<std::string> changes;
  for (const Route& route : wanted.routes) {
    const auto has = std::ranges::find(now.routes, route.destination, &RouteState::destination);
    if (has == now.routes.end()) {
      changes.push_back("+" + text_of(route));
    } else if (!is_about(*has, route)) {
      changes.push_back("~" + text_of(route));
    }
  }
  for (const RouteState& state : now.routes) {
    const auto kept = std::ranges::find(wanted.routes, state.destination, &Route::destination);
    if (kept == wanted.routes.end()) changes.push_back("-" + to_string(state.destination));
  }
  if (changes.size() > kChangesShown) {
    const std::size_t more = changes.size() - kChangesShown;
    changes.resize(kChangesShown);
    changes.push_back(fmt::format("{} more", more));
  }
  return fmt::format("{}", fmt::join(changes, "; "));
}

}  // namespace

DryRunRouteTables::DryRunRouteTables(RouteTables& next, Logger& log)
    : next_(next), log_(log), imagination_(is_same_table) {}

Task<Result<std::optional<RouteTableState>>> DryRunRouteTables::real(std::string name) {
  Result<RouteTableState> state = co_await next_.get(std::move(name));
  if (state) co_return *std::move(state);
  if (state.outcome() == Outcome::absent) co_return std::nullopt;
  co_return std::unexpected(std::move(state).error());
}

Task<Result<RouteTableState>> DryRunRouteTables::ensure(RouteTableSpec spec) {
  std::optional<RouteTableState> now = CO_TRY(co_await real(spec.name));
  std::string changes = difference(now.value_or(RouteTableState{}), spec);
  if (now && now->ranges == spec.ranges && !now->is_leaving && changes.empty()) {
    imagination_.forget(spec.name);
    co_return *std::move(now);
  }
  RouteTableState state{.name = spec.name,
                        .ranges = spec.ranges,
                        .settled = true,
                        .generation = now ? now->generation : 0};
  for (const Route& route : spec.routes) state.routes.push_back(applied(route));
  const bool is_new = !now;
  if (imagination_.imagine(spec.name, std::move(now), state,
                           fmt::format("{}\n{}", is_new, changes))) {
    log_.info(is_new ? "would create route table" : "would change route table",
              {{"name", spec.name}, {"routes", spec.routes.size()}, {"changes", changes}});
  }
  co_return std::move(state);
}

Task<Result<RouteTableState>> DryRunRouteTables::get(std::string name) {
  std::optional<RouteTableState> now = CO_TRY(co_await real(name));
  std::optional<RouteTableState> state = imagination_.look(name, std::move(now));
  if (!state) co_return fail(Outcome::absent, "there is no route table " + name);
  co_return *std::move(state);
}

Task<Result<>> DryRunRouteTables::release(std::string name) {
  std::optional<RouteTableState> now = CO_TRY(co_await real(name));
  if (!now) {
    imagination_.forget(name);
    co_return Result<>{};
  }
  const std::size_t routes = now->routes.size();
  if (imagination_.imagine(name, std::move(now), std::nullopt, "release")) {
    log_.info("would release route table", {{"name", name}, {"routes", routes}});
  }
  co_return Result<>{};
}

Task<Result<>> DryRunRouteTables::follow(std::string name, Tell tell) {
  return next_.follow(name,
                      [this, name, tell = std::move(tell)](std::optional<RouteTableState> now) {
                        tell(imagination_.look(name, std::move(now)));
                      });
}

DryRunRoutes::DryRunRoutes(Routes& next, Logger& log)
    : next_(next), log_(log), imagination_(is_same_route) {}

Task<Result<Listing<RouteState>>> DryRunRoutes::list() {
  Listing<RouteState> all = CO_TRY(co_await next_.list());
  all.items = imagination_.look_over(
      std::move(all.items), [](const RouteState& state) { return to_string(state.destination); });
  co_return all;
}

Task<Result<std::optional<RouteState>>> DryRunRoutes::real(IpPrefix destination) {
  const Listing<RouteState> all = CO_TRY(co_await next_.list());
  const auto found = std::ranges::find(all.items, destination, &RouteState::destination);
  if (found == all.items.end()) co_return std::nullopt;
  co_return *found;
}

Task<Result<>> DryRunRoutes::ensure(Route route) {
  std::optional<RouteState> now = CO_TRY(co_await real(route.destination));
  const std::string name = to_string(route.destination);
  if (now && now->is_foreign) co_return fail(Outcome::conflict, name + " is somebody else's route");
  if (now && is_about(*now, route)) {
    imagination_.forget(name);
    co_return Result<>{};
  }
  const bool is_new = !now;
  if (imagination_.imagine(name, std::move(now), applied(route), text_of(route))) {
    log_.info(is_new ? "would create route" : "would replace route", {{"route", text_of(route)}});
  }
  co_return Result<>{};
}

Task<Result<>> DryRunRoutes::release(RouteState route) {
  const std::string name = to_string(route.destination);
  std::optional<RouteState> now = CO_TRY(co_await real(route.destination));
  if (now && !is_same_route(*now, route)) {
    const std::optional<RouteState> shown = imagination_.look(name, now);
    const bool is_ours = shown && is_same_route(*shown, route);
    if (!is_ours) co_return fail(Outcome::conflict, name + " has become another route");
  }
  if (!now) {
    imagination_.forget(name);
    co_return Result<>{};
  }
  if (imagination_.imagine(name, std::move(now), std::nullopt, "release")) {
    log_.info("would release route", {{"route", name}});
  }
  co_return Result<>{};
}

}  // namespace isthmus::cloud

// Clouds that are wrong about routes; the conformance test must see it.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/cloud/conformance_testing.h"

namespace isthmus::cloud {
namespace {

using Table = RouteTableState;

Task<Result<Table>> table_raises_generations(FakeProvider& cloud, RouteTableSpec spec) {
  const std::string name = spec.name;
  Result<Table> made = co_await cloud.route_tables.ensure(std::move(spec));
  if (made) cloud.route_tables.touched(name, true);
  co_return made;
}

Task<Result<Table>> table_keeps_generation(FakeProvider& cloud, std::string name) {
  Result<Table> found = co_await cloud.route_tables.get(std::move(name));
  if (found) found->generation = 1;
  co_return found;
}

Task<Result<Table>> table_keeps_what_is_not_asked_for(FakeProvider& cloud, RouteTableSpec spec) {
  const auto known = cloud.route_tables.standing.find(spec.name);
  if (known != cloud.route_tables.standing.end()) {
    for (const Route& route : known->second.spec.routes) {
      const auto found = std::ranges::find(spec.routes, route.destination, &Route::destination);
      if (found == spec.routes.end()) spec.routes.push_back(route);
    }
  }
  Result<Table> made = co_await cloud.route_tables.ensure(std::move(spec));
  co_return made;
}

Task<Result<Table>> table_never_settles(FakeProvider& cloud, std::string name) {
  Result<Table> found = co_await cloud.route_tables.get(std::move(name));
  if (found) found->settled = false;
  co_return found;
}

bool has_machine(const FakeProvider& cloud, const Route& route) {
  return std::ranges::find(cloud.machines, route.instance, &Instance::provider_id) !=
         cloud.machines.end();
}

// One route without a machine, and none is applied.
Task<Result<Table>> table_fails_whole(FakeProvider& cloud, std::string name) {
  Result<Table> found = co_await cloud.route_tables.get(name);
  if (!found) co_return found;
  const auto& routes = cloud.route_tables.standing.find(name)->second.spec.routes;
  const bool is_good = std::ranges::all_of(
      routes, [&cloud](const Route& route) { return has_machine(cloud, route); });
  for (RouteState& state : found->routes) {
    if (is_good) continue;
    state.standing = RouteState::Standing::pending;
    state.reason = "InstanceUnknown";
  }
  co_return found;
}

Task<Result<Table>> table_believes_in_any_machine(FakeProvider& cloud, std::string name) {
  Result<Table> found = co_await cloud.route_tables.get(std::move(name));
  if (!found) co_return found;
  for (RouteState& state : found->routes) {
    state.standing = RouteState::Standing::applied;
    state.reason.clear();
  }
  co_return found;
}

Task<Result<Table>> table_goes_anywhere(FakeProvider& cloud, RouteTableSpec spec) {
  for (const Route& route : spec.routes) spec.ranges.push_back(route.destination);
  Result<Table> made = co_await cloud.route_tables.ensure(std::move(spec));
  co_return made;
}

Task<Result<>> table_is_released_in_words(FakeProvider&, std::string) { co_return {}; }

Task<Result<>> table_was_absent(FakeProvider& cloud, std::string name) {
  if (!cloud.route_tables.standing.contains(name)) co_return fail(Outcome::absent, "404");
  Result<> released = co_await cloud.route_tables.release(std::move(name));
  co_return released;
}

Task<Result<>> table_is_never_told(FakeProvider& cloud, std::string name, RouteTables::Tell) {
  Result<> ended = co_await cloud.route_tables.follow(std::move(name), [](const auto&) {});
  co_return ended;
}

Task<Result<>> table_is_told_once(FakeProvider& cloud, std::string name, RouteTables::Tell tell) {
  bool is_told = false;
  Result<> ended = co_await cloud.route_tables.follow(
      std::move(name), [&is_told, &tell](std::optional<Table> table) {
        if (!std::exchange(is_told, true)) tell(std::move(table));
      });
  co_return ended;
}

Task<Result<Listing<RouteState>>> routes_are_listed_twice(FakeProvider& cloud) {
  Result<Listing<RouteState>> listed = co_await cloud.routes.list();
  if (listed && !listed->items.empty()) listed->items.push_back(listed->items[0]);
  co_return listed;
}

Task<Result<>> route_may_not_stand(FakeProvider& cloud, Route route) {
  if (cloud.router.standing.contains(route.destination)) {
    co_return fail(Outcome::conflict, "exists");
  }
  Result<> made = co_await cloud.routes.ensure(std::move(route));
  co_return made;
}

Task<Result<>> route_is_never_replaced(FakeProvider& cloud, Route route) {
  if (cloud.router.standing.contains(route.destination)) co_return {};
  Result<> made = co_await cloud.routes.ensure(std::move(route));
  co_return made;
}

Task<Result<>> routes_all_go(FakeProvider& cloud, RouteState) {
  cloud.router.standing.clear();
  co_return {};
}

Task<Result<>> route_stays(FakeProvider&, RouteState) { co_return {}; }

Task<Result<>> route_was_absent(FakeProvider& cloud, RouteState route) {
  if (!cloud.router.standing.contains(route.destination)) co_return fail(Outcome::absent, "404");
  Result<> released = co_await cloud.routes.release(std::move(route));
  co_return released;
}

std::vector<Mutant> mutants() {
  return {
      {.name = "writes_an_equal_table",
       .caught_by = "routes-made",
       .ensure_table = table_raises_generations},
      {.name = "never_settles", .caught_by = "routes-made", .get_table = table_never_settles},
      {.name = "counts_no_changes",
       .caught_by = "routes-changed",
       .get_table = table_keeps_generation},
      {.name = "keeps_what_is_not_asked_for",
       .caught_by = "routes-changed",
       .ensure_table = table_keeps_what_is_not_asked_for},
      {.name = "fails_whole", .caught_by = "routes-one-bad", .get_table = table_fails_whole},
      {.name = "believes_in_any_machine",
       .caught_by = "routes-one-bad",
       .get_table = table_believes_in_any_machine},
      {.name = "goes_anywhere", .caught_by = "routes-inside", .ensure_table = table_goes_anywhere},
      {.name = "releases_in_words",
       .caught_by = "routes-released",
       .release_table = table_is_released_in_words},
      {.name = "cannot_release_twice",
       .caught_by = "routes-released",
       .release_table = table_was_absent},
      {.name = "tells_nothing", .caught_by = "routes-news", .follow_table = table_is_never_told},
      {.name = "tells_once", .caught_by = "routes-news", .follow_table = table_is_told_once},
      {.name = "lists_twice", .caught_by = "route-made", .list_routes = routes_are_listed_twice},
      {.name = "makes_once", .caught_by = "route-made", .ensure_route = route_may_not_stand},
      {.name = "never_replaces",
       .caught_by = "route-made",
       .ensure_route = route_is_never_replaced},
      {.name = "takes_all", .caught_by = "route-released", .release_route = routes_all_go},
      {.name = "takes_none", .caught_by = "route-released", .release_route = route_stays},
      {.name = "cannot_take_twice",
       .caught_by = "route-released",
       .release_route = route_was_absent},
  };
}

struct conformance_routes : testing::TestWithParam<Mutant>, ConformanceWorld {};

TEST_P(conformance_routes, are_wrong_and_that_is_caught) { expect_caught(GetParam()); }

INSTANTIATE_TEST_SUITE_P(mutants, conformance_routes, testing::ValuesIn(mutants()), mutant_name);

TEST(conformance_of_routes, gives_both_owners_of_a_cloud_their_own_ranges) {
  ConformanceWorld stage;
  FakeProvider stranger;
  MutantProvider takes_all(
      stranger, {.name = "takes_all", .ensure_table = [](FakeProvider& cloud, RouteTableSpec spec) {
                   return cloud.route_tables.ensure(std::move(spec));
                 }});
  const ConformanceReport report = stage.run(stage.cloud, {}, &takes_all);
  EXPECT_EQ(ConformanceWorld::step(report, "routes-other-owner").verdict,
            ConformanceStep::Verdict::failed);
}

TEST(conformance_of_routes, is_skipped_where_none_are_allowed_or_there_is_no_machine) {
  ConformanceWorld stage;
  MutantProvider denied(
      stage.cloud,
      {.name = "denied", .ensure_table = [](FakeProvider&, RouteTableSpec) -> Task<Result<Table>> {
         co_return fail(Outcome::denied, "no routes for you");
       }});
  EXPECT_EQ(ConformanceWorld::step(stage.run(denied), "routes-made").verdict,
            ConformanceStep::Verdict::skipped);
  stage.cloud.machines.clear();
  const ConformanceReport report = stage.run(stage.cloud);
  EXPECT_EQ(ConformanceWorld::step(report, "route-made").verdict,
            ConformanceStep::Verdict::skipped);
  EXPECT_TRUE(report.left.empty());
}

}  // namespace
}  // namespace isthmus::cloud

#include "isthmus/cloud/conformance_impl.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/scope.h"

namespace isthmus::cloud {
namespace {

using Needs = ConformanceCheck::Needs;
using Standing = RouteState::Standing;

// "10.0.0.0/28 to isthmus://m1"
std::string describe(const Route& route) {
  return fmt::format("{} to {}", to_string(route.destination),
                     route.instance ? to_string(*route.instance) : "its next hop");
}

// Whether the states are about these routes, each once, and about no others.
bool are_about(const std::vector<RouteState>& states, const std::vector<Route>& routes) {
  return states.size() == routes.size() && std::ranges::all_of(routes, [&](const Route& route) {
           return std::ranges::any_of(
               states, [&](const RouteState& state) { return is_about(state, route); });
         });
}

// Two machines that are there, or one twice.
Task<Result<std::vector<ProviderId>>> machines_of(ConformanceBench& bench) {
  Instances* machines = bench.provider().capabilities().instances;
  if (machines == nullptr) co_return bench.skipped("the provider knows no machines to route to");
  const Result<Listing<Instance>> listed =
      co_await bench.call<Listing<Instance>>([machines] { return machines->list({}); });
  if (!listed) co_return bench.failed_call("list of all machines", listed.error());
  std::vector<ProviderId> ids;
  for (const Instance& machine : listed->items) {
    if (machine.presence == Presence::present && ids.size() < 2) {
      ids.push_back(machine.provider_id);
    }
  }
  if (ids.empty()) {
    co_return bench.skipped("there is no machine to route to",
                            "have one in the cloud that is tested");
  }
  if (ids.size() == 1) ids.push_back(ids[0]);
  co_return ids;
}

Task<Result<RouteTableState>> try_ensure(ConformanceBench& bench, RouteTableSpec spec) {
  return bench.call<RouteTableState>(
      [&bench, spec = std::move(spec)] { return bench.tables().ensure(spec); });
}

Task<Result<RouteTableState>> try_get(ConformanceBench& bench) {
  return bench.call<RouteTableState>([&bench] { return bench.tables().get(bench.table()); });
}

// Ensured, and answered about what was asked for.
Task<Result<RouteTableState>> ensure(ConformanceBench& bench, RouteTableSpec spec) {
  const std::vector<Route> routes = spec.routes;
  Result<RouteTableState> state = co_await try_ensure(bench, std::move(spec));
  if (state.outcome() == Outcome::unsupported) {
    co_return bench.skipped("the cloud has no tables of routes: " + state.error().message);
  }
  if (state.outcome() == Outcome::denied) {
    co_return bench.skipped("the cloud allows us no routes there: " + state.error().message,
                            "allow routes to " + bench.route_ranges_text());
  }
  if (!state) co_return bench.failed_call("ensure of a table of routes", state.error());
  if (state->name != bench.table() || !are_about(state->routes, routes)) {
    co_return bench.failed("ensure of a table answered about other routes than were asked for",
                           "answer with one state for each route of the spec");
  }
  co_return state;
}

// What get answers once all that can be done for it was done.
Task<Result<RouteTableState>> settled(ConformanceBench& bench) {
  Scope& here = co_await current_scope();
  const Moment until = later(here.loop().now(), bench.options().patience);
  for (;;) {
    Result<RouteTableState> state = co_await try_get(bench);
    if (!state) co_return bench.failed_call("get of a table that was made", state.error());
    if (state->settled && !state->is_leaving) co_return state;
    if (here.loop().now() >= until) {
      co_return bench.failed(
          fmt::format("the table is not settled after {} s",
                      bench.options().patience / std::chrono::seconds(1)),
          "settle once all that can be done was done, also where routes are in conflict");
    }
    CO_TRY(co_await sleep_for(bench.options().poll_every));
  }
}

Task<Result<RouteTableState>> standing(ConformanceBench& bench, RouteTableSpec spec) {
  const std::vector<Route> routes = spec.routes;
  CO_TRY(co_await ensure(bench, std::move(spec)));
  RouteTableState state = CO_TRY(co_await settled(bench));
  if (!are_about(state.routes, routes)) {
    co_return bench.failed("the table settled with other routes than were asked for",
                           "what is not in the spec goes, and what is in it stays");
  }
  co_return state;
}

Task<Result<>> keeps_a_table(ConformanceBench& bench) {
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  const RouteTableSpec spec = bench.table_of({ids[0], ids[1]});
  const RouteTableState made = CO_TRY(co_await standing(bench, spec));
  CO_TRY(co_await ensure(bench, spec));
  const RouteTableState again = CO_TRY(co_await settled(bench));
  if (again.generation == made.generation && again.routes == made.routes) co_return {};
  co_return bench.failed("an equal table was written anew",
                         "where all is right, write nothing and raise no generation");
}

Task<Result<>> changes_a_table(ConformanceBench& bench) {
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  const RouteTableState before =
      CO_TRY(co_await standing(bench, bench.table_of({ids[0], ids[1], ids[0]})));
  const RouteTableState after = CO_TRY(co_await standing(bench, bench.table_of({ids[1], ids[1]})));
  if (before.generation != 0 && after.generation <= before.generation) {
    co_return bench.failed("a table that changed has no higher generation",
                           "count every change of what is asked for, or answer 0 always");
  }
  CO_TRY(co_await standing(bench, bench.table_of({})));
  co_return {};
}

Task<Result<>> leaves_the_others_alone(ConformanceBench& bench) {
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  const ProviderId nobody{bench.provider().scheme(), bench.made_up_id()};
  const RouteTableState made = CO_TRY(co_await standing(bench, bench.table_of({ids[0]})));
  const RouteTableState state = CO_TRY(co_await standing(bench, bench.table_of({ids[0], nobody})));
  const auto was = std::ranges::find(made.routes, ids[0], &RouteState::instance);
  const auto is = std::ranges::find(state.routes, ids[0], &RouteState::instance);
  if (is->standing != was->standing) {
    co_return bench.failed(fmt::format("a route is {} because of another one that has no machine",
                                       to_string(is->standing)),
                           "one bad route is one bad route: all others stand");
  }
  const auto bad = std::ranges::find(state.routes, nobody, &RouteState::instance);
  if (bad->standing != Standing::applied && !bad->reason.empty()) co_return {};
  co_return bench.failed("a route to a machine that there is not is said to stand",
                         "answer that it is pending or refused, and why");
}

Task<Result<>> stays_inside_its_ranges(ConformanceBench& bench) {
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  CO_TRY(co_await standing(bench, bench.table_of({ids[0]})));
  RouteTableSpec spec = bench.table_of({ids[0]});
  const IpPrefix outside = bench.outside_of_ranges();
  spec.routes.push_back({.destination = outside, .instance = ids[0]});
  const Result<RouteTableState> answer = co_await try_ensure(bench, spec);
  if (answer.outcome() == Outcome::invalid) co_return {};
  if (!answer)
    co_return bench.failed_call("ensure of a route outside of the ranges", answer.error());
  const auto state = std::ranges::find(answer->routes, outside, &RouteState::destination);
  if (state != answer->routes.end() && state->standing == Standing::refused) co_return {};
  co_return bench.failed("a route was taken that lies outside of the ranges of its table",
                         "answer `invalid`, or that this one is refused");
}

Task<Result<>> releases_a_table(ConformanceBench& bench) {
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  CO_TRY(co_await standing(bench, bench.table_of({ids[0]})));
  for (int times = 0; times < 2; ++times) {
    const Result<> released =
        co_await bench.call<void>([&bench] { return bench.tables().release(bench.table()); });
    if (!released) co_return bench.failed_call("release of a table of routes", released.error());
    const Result<RouteTableState> remnant = co_await try_get(bench);
    if (remnant.outcome() == Outcome::absent) continue;
    if (!remnant) co_return bench.failed_call("get of a released table", remnant.error());
    co_return bench.failed("release of a table answered ok, and it still stands",
                           "answer `busy` until its routes are gone: nobody asks again after ok");
  }
  co_return {};
}

// What was heard of the table, until it ended.
struct Heard {
  std::vector<std::optional<RouteTableState>> tables = {};
  std::optional<Error> end = {};

  bool is_over_or_has(std::size_t routes) const {
    return end || std::ranges::any_of(tables, [routes](const auto& table) {
             return table && table->routes.size() == routes;
           });
  }
};

// Ends well whatever happens: it is no failure of the step.
Task<Result<>> listen(ConformanceBench& bench, Heard& heard) {
  const Result<> ended = co_await bench.tables().follow(
      bench.table(),
      [&heard](std::optional<RouteTableState> table) { heard.tables.push_back(std::move(table)); });
  if (!ended && !is_our_own(ended.outcome())) heard.end = ended.error();
  co_return {};
}

Task<Result<>> tells_of_a_table(ConformanceBench& bench) {
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  CO_TRY(co_await standing(bench, bench.table_of({ids[0]})));
  Scope& here = co_await current_scope();
  Heard heard;
  Scope listening(here);
  listening.spawn(listen, std::ref(bench), std::ref(heard));
  const Result<> first = co_await bench.until_so([&heard] { return heard.is_over_or_has(1); });
  if (heard.end && heard.end->outcome == Outcome::unsupported) {
    co_return bench.skipped("the cloud does not say by itself what happens to routes");
  }
  if (heard.end) co_return bench.failed_call("follow of a table", *heard.end);
  if (!first) {
    co_return bench.failed("a table that stands was not told of",
                           "tell what it is now before anything else");
  }
  CO_TRY(co_await ensure(bench, bench.table_of({ids[0], ids[1]})));
  const Result<> second = co_await bench.until_so([&heard] { return heard.is_over_or_has(2); });
  if (!second || heard.end) {
    co_return bench.failed("a changed table was not told of", "tell every change");
  }
  co_return {};
}

Task<Result<>> keeps_ranges_apart(ConformanceBench& bench) {
  Provider* stranger = bench.stranger();
  if (stranger == nullptr || stranger->capabilities().route_tables == nullptr) {
    co_return bench.skipped("there is no other owner to compare with",
                            "give the credentials of a second one");
  }
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  const RouteTableSpec spec = bench.table_of({ids[0]});
  CO_TRY(co_await standing(bench, spec));
  RouteTables* theirs = stranger->capabilities().route_tables;
  const Result<RouteTableState> taken =
      co_await bench.call<RouteTableState>([theirs, spec] { return theirs->ensure(spec); });
  const bool is_refused =
      taken.outcome() == Outcome::conflict || taken.outcome() == Outcome::denied;
  const Result<> released =
      co_await bench.call<void>([theirs, &bench] { return theirs->release(bench.table()); });
  CO_TRY(co_await standing(bench, spec));
  if (is_refused) co_return {};
  co_return bench.failed("another owner was given routes where ours are",
                         "answer `conflict`: a range is one owner's");
}

// Single routes.

Task<Result<std::vector<RouteState>>> listed(ConformanceBench& bench) {
  Result<Listing<RouteState>> listing =
      co_await bench.call<Listing<RouteState>>([&bench] { return bench.singles().list(); });
  if (listing.outcome() == Outcome::unsupported) {
    co_return bench.skipped("the cloud has no routes: " + listing.error().message);
  }
  if (!listing) co_return bench.failed_call("list of routes", listing.error());
  if (listing->completeness != Completeness::complete) {
    co_return bench.failed("the list of routes is not complete",
                           "read every page of one consistent view, and say `complete` then");
  }
  std::erase_if(listing->items,
                [&](const RouteState& state) { return !bench.is_in_ranges(state.destination); });
  co_return std::move(listing->items);
}

Task<Result<>> ensure_single(ConformanceBench& bench, Route route) {
  const std::string what = "ensure of " + describe(route);
  const Result<> made = co_await bench.call<void>(
      [&bench, route = std::move(route)] { return bench.singles().ensure(route); });
  if (!made) co_return bench.failed_call(what, made.error());
  co_return {};
}

Task<Result<>> makes_single_routes(ConformanceBench& bench) {
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  CO_TRY(co_await listed(bench));
  for (const ProviderId& id : {ids[0], ids[0], ids[1]}) {
    const std::vector<Route> routes = bench.table_of({id}).routes;
    CO_TRY(co_await ensure_single(bench, routes[0]));
    const std::vector<RouteState> now = CO_TRY(co_await listed(bench));
    if (are_about(now, routes)) continue;
    co_return bench.failed(
        fmt::format("{} routes are listed where {} was ensured", now.size(), describe(routes[0])),
        "a route to the same destination is left alone or replaced, and listed once");
  }
  co_return {};
}

Task<Result<>> releases_single_routes(ConformanceBench& bench) {
  const std::vector<ProviderId> ids = CO_TRY(co_await machines_of(bench));
  CO_TRY(co_await listed(bench));
  for (const Route& route : bench.table_of({ids[0], ids[1]}).routes) {
    CO_TRY(co_await ensure_single(bench, route));
  }
  const std::vector<RouteState> made = CO_TRY(co_await listed(bench));
  for (int times = 0; times < 2; ++times) {
    const Result<> released =
        co_await bench.call<void>([&bench, &made] { return bench.singles().release(made[0]); });
    if (!released) co_return bench.failed_call("release of a route", released.error());
    const std::vector<RouteState> left = CO_TRY(co_await listed(bench));
    if (left.size() + 1 == made.size() && left[0].destination == made[1].destination) continue;
    co_return bench.failed(
        fmt::format("{} of {} routes are left where one was released", left.size(), made.size()),
        "take away the one that is named, and nothing else");
  }
  co_return {};
}

}  // namespace

void add_route_checks(std::vector<ConformanceCheck>& checks) {
  const auto add = [&checks](Needs needs, std::string name, std::string sentence, auto run) {
    checks.push_back({std::move(name), std::move(sentence), needs, run});
  };
  add(Needs::route_tables, "routes-made",
      "A table of routes is taken whole, and an equal one changes nothing", keeps_a_table);
  add(Needs::route_tables, "routes-changed",
      "A route is replaced, others go, and the table settles with what was asked for",
      changes_a_table);
  add(Needs::route_tables, "routes-one-bad",
      "A route to a machine that there is not leaves the others alone", leaves_the_others_alone);
  add(Needs::route_tables, "routes-inside", "A route outside of the ranges of its table is refused",
      stays_inside_its_ranges);
  add(Needs::route_tables, "routes-news",
      "Who follows a table hears what it is and what becomes of it", tells_of_a_table);
  add(Needs::route_tables, "routes-other-owner", "Ranges are one owner's", keeps_ranges_apart);
  add(Needs::route_tables, "routes-released",
      "A table is released with its routes, and again is ok", releases_a_table);
  add(Needs::routes, "route-made", "A single route is made once and replaced by another",
      makes_single_routes);
  add(Needs::routes, "route-released", "A single route is released, and again is ok",
      releases_single_routes);
}

}  // namespace isthmus::cloud

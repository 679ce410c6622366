#include "isthmus/providers/fake/fake_routes.h"

#include <fmt/format.h>

namespace isthmus::providers::fake {

using cloud::RouteState;

Task<Result<cloud::Listing<RouteState>>> FakeRoutes::list() {
  ++lists;
  CO_TRY(co_await calls_.suffer());
  cloud::Listing<RouteState> answer{.completeness = cloud::Completeness::complete};
  for (const auto& [destination, route] : router_.standing) {
    answer.items.push_back({.destination = destination,
                            .instance = route.instance,
                            .next_hop = route.next_hop,
                            .standing = router_.down.contains(destination)
                                            ? RouteState::Standing::pending
                                            : RouteState::Standing::applied,
                            .is_foreign = marks && route.is_foreign});
  }
  const Faults& faults = calls_.faults;
  if (faults.list_only && *faults.list_only < answer.items.size()) {
    answer.items.resize(*faults.list_only);
    if (!faults.partial_list_claims_to_be_complete) {
      answer.completeness = cloud::Completeness::partial;
    }
  }
  co_return answer;
}

Task<Result<>> FakeRoutes::ensure(cloud::Route route) {
  ++ensures;
  CO_TRY(co_await calls_.suffer());
  if (refused.contains(route.destination)) {
    co_return fail(Outcome::invalid,
                   fmt::format("destination {}: will never do", to_string(route.destination)));
  }
  const auto found = router_.standing.find(route.destination);
  if (found != router_.standing.end() && found->second.is_foreign) {
    co_return fail(Outcome::conflict,
                   fmt::format("{} is somebody else's route", to_string(route.destination)));
  }
  if (router_.put(route.destination, {route.instance, route.next_hop})) ++writes;
  CO_TRY(calls_.deliver());
  co_return {};
}

Task<Result<>> FakeRoutes::release(RouteState route) {
  ++releases;
  CO_TRY(co_await calls_.suffer());
  const auto found = router_.standing.find(route.destination);
  if (found != router_.standing.end()) {
    const FakeRoute listed{route.instance, route.next_hop, found->second.is_foreign};
    if (found->second != listed) {
      co_return fail(Outcome::conflict,
                     fmt::format("{} has become another route", to_string(route.destination)));
    }
    router_.take(route.destination);
    ++writes;
  }
  CO_TRY(calls_.deliver());
  co_return {};
}

}  // namespace isthmus::providers::fake

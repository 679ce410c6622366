#include "isthmus/providers/infra/translate_routes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "isthmus/infra/api/load_balancer.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using cloud::RouteState;

// Reasons of Ready that say no more than what its routes say one by one, or that it is under way.
const std::set<std::string_view> kSaidByRoutes = {"Pending", "RoutesPending", "RouteConflict"};

// The reason of a route that has not been taken up.
constexpr std::string_view kNotLookedAt = "Pending";

RouteState::Standing standing_of(api::RouteState state) {
  switch (state) {
    case api::RouteState::applied:
      return RouteState::Standing::applied;
    case api::RouteState::conflict:
      return RouteState::Standing::conflict;
    case api::RouteState::pending:
      break;
  }
  return RouteState::Standing::pending;
}

std::vector<cloud::RouteTableState::Fact> facts_of(const api::RouteTable& table) {
  const api::Condition* ready = find(table.status.conditions, api::condition::ready);
  const bool is_bad = ready != nullptr && ready->status == api::ConditionStatus::is_false &&
                      !kSaidByRoutes.contains(ready->reason);
  if (!is_bad) return {};
  return {{.reason = ready->reason, .message = ready->message}};
}

// What the host holds of ours, and nobody knows: the controller judges it as any other route, and
// asks for it as it stands. So it is shown what the table has room for, besides as many Nodes that
// come meanwhile. What nobody could ask for is left to people.
void add_orphans(const api::RouteTable& table, std::vector<RouteState>& routes) {
  const std::size_t most = (routes.size() + std::max(routes.size(), api::kRoutesMax)) / 2;
  std::set<IpPrefix> named;
  for (const RouteState& route : routes) named.insert(route.destination);
  for (const api::OrphanRoute& orphan : table.status.orphans) {
    if (routes.size() >= most) break;
    if (!orphan.next_hop || !named.insert(orphan.destination).second) continue;
    routes.push_back({.destination = orphan.destination,
                      .next_hop = orphan.next_hop,
                      .standing = RouteState::Standing::applied});
  }
}

}  // namespace

api::RouteTable to_api(const cloud::RouteTableSpec& spec) {
  api::RouteTable said;
  said.metadata.name = spec.name;
  said.metadata.labels = spec.labels;
  said.spec.cluster_cidrs = spec.ranges;
  said.spec.routes.reserve(spec.routes.size());
  for (const cloud::Route& route : spec.routes) {
    said.spec.routes.push_back({.destination = route.destination,
                                .instance = route.instance ? route.instance->id : std::string(),
                                .next_hop = route.next_hop});
  }
  return said;
}

cloud::RouteTableState to_cloud(const std::string& scheme, api::RouteTable table) {
  cloud::RouteTableState state;
  state.is_leaving = table.metadata.deletion_requested_at.has_value();
  state.settled = !state.is_leaving && table.status.applied_generation == table.metadata.generation;
  state.generation = table.metadata.generation;
  state.facts = facts_of(table);
  const bool is_judged = table.status.observed_generation == table.metadata.generation;
  std::map<IpPrefix, const api::RouteStatus*> said;
  for (const api::RouteStatus& status : table.status.routes) {
    said.emplace(status.destination, &status);
  }
  state.routes.reserve(table.spec.routes.size());
  for (api::RouteEntry& entry : table.spec.routes) {
    RouteState& route = state.routes.emplace_back();
    route.destination = entry.destination;
    route.next_hop = entry.next_hop;
    if (!entry.instance.empty()) {
      route.instance = cloud::ProviderId{scheme, std::move(entry.instance)};
    }
    const auto found = said.find(entry.destination);
    if (!is_judged || found == said.end() || found->second->reason == kNotLookedAt) continue;
    route.standing = standing_of(found->second->state);
    route.reason = found->second->reason;
    route.message = found->second->message;
  }
  add_orphans(table, state.routes);
  std::ranges::sort(state.routes, {}, &RouteState::destination);
  state.name = std::move(table.metadata.name);
  state.ranges = std::move(table.spec.cluster_cidrs);
  return state;
}

Result<> take_out(const std::map<std::size_t, std::string>& refused, cloud::RouteTableSpec& spec,
                  std::vector<RouteState>& into) {
  std::vector<cloud::Route> rest;
  for (std::size_t place = 0; place < spec.routes.size(); ++place) {
    const auto found = refused.find(place);
    cloud::Route& route = spec.routes[place];
    if (found == refused.end()) {
      rest.push_back(std::move(route));
      continue;
    }
    into.push_back({.destination = route.destination,
                    .instance = route.instance,
                    .next_hop = route.next_hop,
                    .standing = RouteState::Standing::refused,
                    .reason = "Refused",
                    .message = found->second});
  }
  if (!refused.empty() && refused.rbegin()->first >= spec.routes.size()) {
    return fail(Outcome::lost, "the server refuses a route that was not asked for");
  }
  spec.routes = std::move(rest);
  return {};
}

}  // namespace isthmus::providers::infra

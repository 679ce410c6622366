#include "isthmus/controllers/route_book.h"

#include <utility>

namespace isthmus::controllers {
namespace {

constexpr Duration kRefusedAgainAfter = std::chrono::minutes(10);

}  // namespace

void RouteBook::learn(const std::optional<cloud::RouteTableState>& table) {
  is_known = true;
  is_complete = true;
  stands = table.has_value() && !table->is_leaving;
  is_taken = is_taken || stands;
  settled = stands && table->settled;
  ranges = table ? table->ranges : std::vector<IpPrefix>();
  generation = table ? table->generation : 0;
  const std::map<IpPrefix, cloud::RouteState> before = std::exchange(routes, {});
  if (!table) return;
  for (const cloud::RouteState& route : table->routes) {
    const auto known = before.find(route.destination);
    const bool is_judged =
        route.standing != cloud::RouteState::Standing::pending || !route.reason.empty();
    const bool stood = !is_judged && known != before.end() &&
                       known->second.instance == route.instance &&
                       known->second.next_hop == route.next_hop;
    routes.emplace(route.destination, stood ? known->second : route);
  }
}

// A partial listing says nothing of what it does not mention. A route that is there after all, by
// an attempt whose answer was lost, say, has not failed.
void RouteBook::learn(const cloud::Listing<cloud::RouteState>& listing) {
  is_known = true;
  is_taken = true;
  is_complete = listing.completeness == cloud::Completeness::complete;
  if (is_complete) routes.clear();
  for (const cloud::RouteState& route : listing.items) {
    routes.insert_or_assign(route.destination, route);
    const auto failure = failed.find(route.destination);
    const bool is_there = failure != failed.end() && failure->second.instance == route.instance &&
                          failure->second.next_hop == route.next_hop;
    if (is_there) failed.erase(failure);
  }
}

void RouteBook::learn_ensured(cloud::RouteTableSpec spec, cloud::RouteTableState table,
                              Moment now) {
  failed.clear();
  for (const cloud::RouteState& route : table.routes) {
    if (route.standing != cloud::RouteState::Standing::refused) continue;
    failed.emplace(route.destination, route);
  }
  std::erase_if(table.routes, [](const cloud::RouteState& route) {
    return route.standing == cloud::RouteState::Standing::refused;
  });
  sent = std::move(spec);
  sent_generation = table.generation;
  sent_at = now;
  learn(std::optional(std::move(table)));
}

bool RouteBook::is_as_asked(const cloud::RouteTableSpec& spec, Moment now) const {
  if (!failed.empty() && now >= later(sent_at, kRefusedAgainAfter)) return false;
  return sent == spec && !was_changed_by_others();
}

bool RouteBook::was_changed_by_others() const {
  return sent && (!stands || generation != sent_generation);
}

bool RouteBook::was_left_out(const IpPrefix& destination) const {
  return sent && failed.contains(destination);
}

const cloud::RouteState* RouteBook::find(const IpPrefix& destination) const {
  if (const auto failure = failed.find(destination); failure != failed.end()) {
    return &failure->second;
  }
  const auto found = routes.find(destination);
  return found == routes.end() ? nullptr : &found->second;
}

std::vector<cloud::RouteState> RouteBook::all() const {
  std::vector<cloud::RouteState> states;
  states.reserve(routes.size());
  for (const auto& [destination, state] : routes) states.push_back(state);
  return states;
}

}  // namespace isthmus::controllers

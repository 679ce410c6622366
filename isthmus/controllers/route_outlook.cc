#include "isthmus/controllers/route_outlook.h"

#include <utility>

#include <fmt/format.h>

#include "isthmus/controllers/route.h"

namespace isthmus::controllers {
namespace {

using Standing = cloud::RouteState::Standing;
using Step = PlannedRoute::Step;

// Of a route that is wanted, or one that is there.
template <class AnyRoute>
std::string way_of(const AnyRoute& route) {
  if (!route.instance) {
    return "to " + (route.next_hop ? to_string(*route.next_hop) : "an unknown machine");
  }
  std::string text = "to " + to_string(*route.instance);
  if (route.next_hop) text += " at " + to_string(*route.next_hop);
  return text;
}

Outlook about(const IpPrefix& destination) {
  return {.kind = "Route", .key = {.name = to_string(destination)}};
}

// It is as it was asked for; the cloud says what has become of that.
void judge(const cloud::RouteState& present, Outlook& outlook) {
  if (present.standing == Standing::applied) return;
  outlook.act = present.standing == Standing::pending ? Act::wait : Act::refuse;
  outlook.reason = present.reason;
  if (!present.message.empty()) outlook.details.push_back(present.message);
}

Outlook outlook_of(const PlannedRoute& planned) {
  Outlook outlook = about(planned.route.destination);
  const std::string node = planned.node.name.empty() ? "" : " of node " + planned.node.name;
  outlook.message = way_of(planned.route) + node;
  switch (planned.step) {
    case Step::keep:
      judge(planned.present, outlook);
      break;
    case Step::create:
    case Step::overlap:
      outlook.act = Act::create;
      break;
    case Step::replace:
    case Step::move:
      outlook.act = Act::update;
      outlook.details.push_back("instead of " + way_of(planned.present));
      break;
  }
  return outlook;
}

}  // namespace

Task<Result<std::vector<cloud::RouteState>>> present_routes(cloud::ClusterUid cluster,
                                                            cloud::Provider& cloud) {
  const cloud::Capabilities can = cloud.capabilities();
  ISTHMUS_ASSERT(can.route_tables != nullptr || can.routes != nullptr,
                 "routes of a cloud without routes");
  if (can.route_tables == nullptr) {
    auto all = CO_TRY(co_await can.routes->list());
    co_return std::move(all.items);
  }
  Result<cloud::RouteTableState> table =
      co_await can.route_tables->get(cloud::cluster_name(kRouteTableKind, cluster));
  if (table) co_return std::move(table->routes);
  if (table.outcome() == Outcome::absent) co_return std::vector<cloud::RouteState>{};
  co_return std::unexpected(std::move(table).error());
}

std::vector<Outlook> outlooks_of(const RoutePlan& plan) {
  std::vector<Outlook> outlooks;
  for (const PlannedRoute& planned : plan.routes) outlooks.push_back(outlook_of(planned));
  for (const cloud::RouteState& state : plan.ownerless) {
    Outlook outlook = about(state.destination);
    outlook.act = Act::release;
    outlook.reason = "Ownerless";
    outlook.message = "no Node has it; it goes when that is still so a minute later";
    outlook.details.push_back(way_of(state));
    outlooks.push_back(std::move(outlook));
  }
  for (const auto& [node, routes] : plan.nodes) {
    for (const Notice& notice : routes.notices) {
      outlooks.push_back({.kind = "Node",
                          .key = node,
                          .act = Act::refuse,
                          .reason = notice.reason,
                          .message = notice.message});
    }
  }
  return outlooks;
}

}  // namespace isthmus::controllers

// What the routes of a table come to on this host: plain functions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/infra/api/route_table.h"
#include "isthmus/infra/drivers/addresses.h"
#include "isthmus/infra/drivers/routes.h"
#include "isthmus/infra/instance_record.h"
#include "isthmus/infra/ledger_records.h"
#include "isthmus/infra/route_table_plan.h"

namespace isthmus::infra {

// The reasons of routes that are not applied. Once given, they stay.
namespace route_reason {
inline constexpr std::string_view pending = "Pending";
inline constexpr std::string_view instance_unknown = "InstanceUnknown";
inline constexpr std::string_view no_next_hop = "NoNextHop";
inline constexpr std::string_view not_on_link = "NextHopNotOnLink";
inline constexpr std::string_view link_down = "LinkDown";
inline constexpr std::string_view refused = "RouteRefused";
inline constexpr std::string_view failed = "RoutesFailed";
inline constexpr std::string_view foreign = "ForeignRoute";
inline constexpr std::string_view shadowed = "Shadowed";
inline constexpr std::string_view connected = "ConnectedNetwork";
}  // namespace route_reason

// A destination that a table names, and the route there; or why there can be none now. What the
// kernel has for such a destination stays: that a machine or a link is not there now is no wish to
// have its route taken away.
struct WantedRoute {
  std::optional<drivers::HostRoute> route;
  api::RouteStatus status;  // Of one without a route.

  friend bool operator==(const WantedRoute&, const WantedRoute&) = default;
};

// By destination: no two tables have a common one.
using WantedRoutes = std::map<IpPrefix, WantedRoute>;

// The routes of a table. A next hop must lie in a network that an interface of the host, of which
// `host` is what they have besides addresses of ours, is connected to; so it is never looked for
// behind another route. A destination in which an address of the host lies would take the host's
// own network away, and is in conflict.
void resolve(const RouteTableRecord& record, const InstanceSnapshot* machines,
             const std::vector<drivers::InterfaceAddress>& host, WantedRoutes& wanted);

// Routes of ours that the kernel holds and no table knows, and their next hops.
using OrphanRoutes = std::map<IpPrefix, IpAddress>;

// What tables may have taken away of what none of them names.
struct RouteClaims {
  std::set<IpPrefix> destinations = {};  // That they named, until the host has followed.
  std::vector<IpPrefix> ranges = {};     // All in the cluster CIDRs of those that leave.

  // `is_applied`: the host has followed, and what the record has dropped is not its any more.
  void add(const RouteTableRecord& record, bool is_applied);
  bool cover(const IpPrefix& destination) const;
};

// What has to be done so that the kernel, which holds `held`, has what is wanted, and what of ours
// it holds that nobody knows. Of that, what is claimed goes.
struct RouteWork {
  std::vector<drivers::RouteChange> changes;  // What is made comes before what is taken away.
  OrphanRoutes orphans;

  friend bool operator==(const RouteWork&, const RouteWork&) = default;
};
RouteWork compare(const WantedRoutes& wanted, const std::vector<drivers::HostRoute>& held,
                  const RouteClaims& claims);

// Those in the table's cluster CIDRs, as its status tells them: up to a limit, for which those that
// a table can name come first.
std::vector<api::OrphanRoute> orphans_of(const RouteTableRecord& record,
                                         const OrphanRoutes& orphans);

}  // namespace isthmus::infra

// What shall be routed where, decided from the Nodes and from what the cloud has: a plain function,
// which neither waits nor knows the time.
//
// Every pod CIDR belongs to one Node. Of Nodes whose CIDRs overlap the older one keeps its own,
// whatever state it is in. A route is made to the machine of a Node that is initialized; where it
// is none of this cloud's, or nobody has said which, to the Node's own InternalIP, as load
// balancers do. A CIDR that holds the address of a Node gets no route: it would cut that machine
// off, and every route to it. What stands for a CIDR that belongs to a Node is never taken away
// here. A route whose destination belongs to no Node is `ownerless`: whether and when it goes is
// another decision (route_removals.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/cloud/route.h"
#include "isthmus/controllers/notice.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

struct RoutePlanOptions {
  std::string scheme;                   // Of the cloud's provider ids.
  std::vector<IpPrefix> cluster_cidrs;  // One, or one of each family.
};

// What a Node has to do with routes.
struct NodeRoutes {
  // Whether every pod CIDR of it may be routed to it.
  enum class Claim : std::uint8_t {
    none,       // It has no pod CIDR.
    whole,      // All of them.
    contested,  // An older Node has what one of them overlaps.
    unfit,      // One of them is no CIDR, lies outside the cluster's, or holds a machine.
  };

  std::string uid = {};
  bool is_served = false;  // Initialized, and not leaving.
  bool is_ours = false;    // And its machine is in this cloud: its condition is ours to judge.
  Claim claim = Claim::none;
  std::vector<cloud::Route> routes = {};  // That it shall have, if it is served: one per CIDR.
  std::vector<Notice> notices = {};       // Why it does not get some.

  friend bool operator==(const NodeRoutes&, const NodeRoutes&) = default;
};

// A route that shall stand.
struct PlannedRoute {
  enum class Step : std::uint8_t {
    keep,     // It stands, or another that is nobody's business now.
    create,   // There is none to this destination.
    replace,  // The same machine, another next hop.
    move,     // It goes to another machine now, or nobody knows to which.
    overlap,  // There is none to it, and one to part of it, or around it, has no Node that we see.
  };

  cloud::Route route = {};
  Step step = Step::keep;
  kube::ObjectKey node = {};       // Whose destination it is; empty: it lies outside the cluster.
  cloud::RouteState present = {};  // What stands to it, if anything does.

  // Whether somebody's pods may be cut off by it whom we do not see.
  bool needs_witness() const { return step == Step::move || step == Step::overlap; }

  friend bool operator==(const PlannedRoute&, const PlannedRoute&) = default;
};

struct RoutePlan {
  std::vector<PlannedRoute> routes = {};          // In the order of their destinations.
  std::vector<cloud::RouteState> ownerless = {};  // Ours, wholly inside the cluster's CIDRs.
  std::map<kube::ObjectKey, NodeRoutes> nodes = {};

  friend bool operator==(const RoutePlan&, const RoutePlan&) = default;
};

// `present` is what the cloud has where ours may be. Foreign routes are left alone, and so are
// those that do not lie wholly inside the cluster's CIDRs, whoever made them.
RoutePlan plan_routes(const std::map<kube::ObjectKey, kube::Snapshot<kube::Node>>& nodes,
                      const std::vector<cloud::RouteState>& present,
                      const RoutePlanOptions& options);

// What stands, as it would be asked for.
cloud::Route route_of(const cloud::RouteState& state);

// The pod CIDRs of a Node, each once, without those that are none.
std::vector<IpPrefix> pod_cidrs_of(const kube::Node& node);

// Whether a difference may change what plan_routes answers: not a heartbeat.
bool route_change_matters(const kube::Difference<kube::Node>& difference);

}  // namespace isthmus::controllers

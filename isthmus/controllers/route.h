// The route controller: sees to it that packets to a Node's pods reach its machine.
//
// What it promises, in this order:
// 1. Every pod CIDR of an initialized Node has a route to its machine. One that moves to another
//    machine is replaced, never taken away first, and only once the API server has said itself that
//    the CIDR is this Node's.
// 2. A route is taken away when no Node has had its destination in two passes a minute apart, when
//    the API server says so itself, and few at a time; not while the Nodes we see may be a lie
//    (route_removals.h). Foreign routes, and those that do not lie wholly inside the cluster's
//    CIDRs, are never touched.
// 3. The condition NetworkUnavailable of a Node says whether its routes stand, where nobody else
//    says it (route_condition.h).
// 4. One Node's bad CIDR, and one route that the cloud refuses, are that Node's trouble alone, and
//    an event tells it once.
//
// One queue, two kinds of keys. kRoutesKey is the table of all routes: compared with the Nodes and
// the cloud, written in one call where the cloud takes it whole, cleared of what is ownerless. It
// comes when the Nodes have changed and been quiet for a moment, when the cloud says that somebody
// else changed it, and every --route-reconciliation-period. The key of a Node is about that Node:
// its condition, its events, and where the cloud is told each route its routes; so what fails for
// one backs off alone, as a controller of its own kind would (docs/decisions/0013). Node keys are
// put there by the table's run and by news of the cloud, so that a heartbeat costs nothing.
//
// It assumes that the store follows the API server and that runs of one key never overlap
// (kube/controller.h).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/controllers/route_plan.h"
#include "isthmus/controllers/route_removals.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/controller.h"
#include "isthmus/kube/recorder.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// The kind of the name of a cluster's table (cloud/ownership.h).
inline constexpr std::string_view kRouteTableKind = "routes";

// The key of all routes. Nodes have no namespace, so it is no Node's.
inline const kube::ObjectKey kRoutesKey{.name_space = "cluster", .name = "routes"};

struct RouteControllerOptions {
  RoutePlanOptions plan;  // With at least one CIDR (asserted).

  // All routes are compared about this often though nothing is known to have changed.
  Duration reconcile_every = std::chrono::minutes(1);

  // A change of the Nodes is acted on after the first, and while more come at the latest after the
  // second.
  Duration debounce = std::chrono::seconds(1);
  Duration debounce_max = std::chrono::seconds(10);

  // Where the cloud does not tell by itself: how soon it is asked what became of a change.
  Duration unsettled_again_after = std::chrono::seconds(2);

  // A route may be pending for so long before its Node is called unavailable.
  Duration patience = std::chrono::seconds(5);

  RouteRemovalLimits removals;
};

// What the controller is given; all of it outlives it.
struct RouteDoors {
  kube::Store<kube::Node>& nodes;  // Keeps the annotations of node_projection().
  kube::ApiDoor& api;
  cloud::Provider& cloud;  // Has route_tables or routes (asserted).
  kube::Recorder& recorder;
  Loop& loop;
  Random& random;
  Metrics& metrics;
  Logger& log;

  // Brakes: while one of them answers with an error, nothing is taken away, and the error says why.
  // Whether the store is as new as it should be; whether those who judge the cloud let anything be
  // deleted (cloud/witness).
  std::function<Result<>()> nodes_are_current;
  std::function<Result<>()> deletions_are_safe;
};

// A resource; the doors outlive it.
class RouteController final : public kube::Reconciler {
 public:
  static constexpr std::string_view kName = "node-route-controller";

  RouteController(RouteControllerOptions options, RouteDoors doors);
  ~RouteController() override;

  std::string_view name() const override { return kName; }
  Task<Result<kube::Action>> reconcile(kube::ObjectKey key) override;

  // Follows the Nodes and the cloud's news and puts the keys concerned into the queue, until the
  // scope is cancelled; run it beside the queue.
  Task<Result<>> run(kube::Controller& queue);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace isthmus::controllers

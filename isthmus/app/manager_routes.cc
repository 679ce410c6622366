// The queue of the routes.
#include "isthmus/app/manager_impl.h"

#include "isthmus/app/controller_names.h"
#include "isthmus/controllers/route.h"

namespace isthmus::app {
namespace {

class RoutesPart final : public ManagerPart {
 public:
  explicit RoutesPart(const PartContext& context)
      : recorder_(context.recorder(kRouteControllerName)),
        route_controller_(context.options.route, doors(context)),
        controllers_({.queue = "Routes", .workers = context.options.route_workers},
                     {{kRouteControllerName, route_controller_}}, context) {}

  ControllerPart& controllers() override { return controllers_; }

  void start(Scope& beside) override {
    beside.spawn(&controllers::RouteController::run, &route_controller_,
                 std::ref(controllers_.queue()));
  }

  std::vector<HealthCheck> watch_checks(const Clock&) const override { return {}; }

 private:
  controllers::RouteDoors doors(const PartContext& context) const {
    const Watched<kube::Node>& nodes = context.nodes;
    const Loop& loop = context.doors.loop;
    const cloud::DeletionStop& stop = context.deletion_stop;
    return {.nodes = context.nodes.store,
            .api = context.api(kRouteControllerName),
            .cloud = context.doors.cloud.provider(),
            .recorder = *recorder_,
            .loop = context.doors.loop,
            .random = context.doors.random,
            .metrics = context.doors.metrics,
            .log = context.doors.log,
            .nodes_are_current = [&nodes, &loop] { return nodes.check(loop.now()); },
            .deletions_are_safe =
                [&stop, &loop] {
                  return stop.stopped(loop.now()) ? fail(Outcome::busy, stop.why()) : Result<>();
                }};
  }

  const std::unique_ptr<kube::Recorder> recorder_;
  controllers::RouteController route_controller_;
  ControllerPart controllers_;
};

// Upstream dies of a missing CIDR, whatever else it does; nothing else needs it.
bool has_what_it_needs(const PartContext& context) {
  if (!context.options.configure_routes) {
    context.doors.log.info("no routes are made: --configure-cloud-routes=false", {});
    return false;
  }
  const cloud::Capabilities can = context.doors.cloud.provider().capabilities();
  if (!context.wants(kRouteControllerName, can.route_tables != nullptr || can.routes != nullptr)) {
    return false;
  }
  if (!context.options.route.plan.cluster_cidrs.empty()) return true;
  context.doors.log.info(
      "no routes are made: they need --cluster-cidr, the ranges of the pods "
      "(--configure-cloud-routes=false says that none are wanted)",
      {});
  return false;
}

}  // namespace

std::unique_ptr<ManagerPart> make_routes_part(const PartContext& context) {
  if (!context.options.controllers.contains(kRouteControllerName)) return nullptr;
  if (!has_what_it_needs(context)) return nullptr;
  return std::make_unique<RoutesPart>(context);
}

}  // namespace isthmus::app

#include "isthmus/app/run_flags_impl.h"

#include "isthmus/controllers/pod_cidr.h"

namespace isthmus::app {
namespace {

// Every comparison asks the cloud, unless it tells by itself.
constexpr Duration kReconciliationMin = std::chrono::seconds(1);

}  // namespace

void add_route_flags(FlagTable& table, RouteFlags& flags) {
  const std::string group = "node-route-controller flags";
  table
      .text("cluster-cidr", flags.cluster_cidr, group,
            "Ranges of the pods, one or one per family, comma-separated; needed for routes.")
      .composite = Flag::Composite::list;
  table.boolean("configure-cloud-routes", flags.configure_cloud_routes, group,
                "Run the route controller, where the cloud has routes.");
  table.positive_duration("route-reconciliation-period", flags.reconciliation_period, group,
                          "How often all routes are compared with the Nodes though nothing is "
                          "known to have changed.");
}

void check_route_flags(const RouteFlags& flags, Mistakes& mistakes) {
  const Result<std::vector<IpPrefix>> cidrs = controllers::parse_cluster_cidrs(flags.cluster_cidr);
  if (!cidrs) mistakes.add("--cluster-cidr", cidrs.error().message);
  if (flags.reconciliation_period < kReconciliationMin) {
    mistakes.add("--route-reconciliation-period", "must be at least 1s");
  }
}

controllers::RouteControllerOptions route_options(const RouteFlags& flags) {
  controllers::RouteControllerOptions options;
  options.plan.cluster_cidrs =
      controllers::parse_cluster_cidrs(flags.cluster_cidr).value_or(std::vector<IpPrefix>());
  options.reconcile_every = flags.reconciliation_period;
  return options;
}

}  // namespace isthmus::app

#include "isthmus/app/run_flags_impl.h"

#include <fmt/format.h>

#include <set>

#include "isthmus/base/text.h"
#include "isthmus/kube/api/names.h"

namespace isthmus::app {
namespace {

// An empty list serves no class. Anything the API server would take for a class is one.
std::set<std::string, std::less<>> served_classes(const ServiceFlags& flags, Mistakes& mistakes) {
  std::set<std::string, std::less<>> classes;
  if (trimmed(flags.load_balancer_classes).empty()) return classes;
  for (const std::string_view part : split(flags.load_balancer_classes, ',')) {
    const std::string_view name = trimmed(part);
    Result<> good = kube::check_label_key(name);
    if (!good) {
      mistakes.add("--load-balancer-classes",
                   fmt::format("{}: {}", quoted(name), good.error().message));
    }
    classes.emplace(name);
  }
  return classes;
}

}  // namespace

void add_service_flags(FlagTable& table, ServiceFlags& flags) {
  const std::string group = "service-lb-controller flags";
  table.integer("concurrent-service-syncs", flags.concurrent_syncs, 1, kWorkersMax, group,
                "How many Services are worked on at once.");
  table
      .text("load-balancer-classes", flags.load_balancer_classes, group,
            "Values of loadBalancerClass that are served, comma-separated; may be empty.")
      .composite = Flag::Composite::list;
  table.boolean("serve-unclassed-services", flags.serve_unclassed, group,
                "Serve Services without a loadBalancerClass, too.");
  table.choice("lb-node-health", flags.node_health, {"auto", "kube-proxy", "kubelet"}, group,
               "What tells that a Node is well, for externalTrafficPolicy Cluster: kube-proxy's "
               "health port, the kubelet's port, or the former unless no Node answers there.");
  table.boolean("lb-target-sets", flags.target_sets, group,
                "Send a change of the Nodes once for all load balancers, where the cloud can.");
  table.positive_duration("load-balancer-drift-period", flags.drift_period, group,
                          "How often a load balancer is compared with its Service though nothing "
                          "is known to have changed.");
  table.positive_duration("load-balancer-orphan-grace", flags.orphan_grace, group,
                          "How long a load balancer without a Service is kept before it goes.");
}

controllers::ServiceControllerOptions service_options(const ServiceFlags& flags,
                                                      Mistakes& mistakes) {
  controllers::ServiceControllerOptions service;
  service.plan.classes = served_classes(flags, mistakes);
  service.plan.serves_unclassed = flags.serve_unclassed;
  service.plan.node_health = controllers::parse_node_health(flags.node_health)
                                 .value_or(controllers::NodeHealth::automatic);
  service.shares_targets = flags.target_sets;
  service.drift_every = flags.drift_period;
  service.orphan_grace = flags.orphan_grace;
  if (service.plan.classes.empty() && !service.plan.serves_unclassed) {
    mistakes.add("--load-balancer-classes and --serve-unclassed-services",
                 "serve no Service at all; use --controllers=*,-service-lb-controller for that");
  }
  return service;
}

}  // namespace isthmus::app

#include "isthmus/controllers/node_check.h"

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "isthmus/base/duration.h"

namespace isthmus::controllers {
namespace {

using HealthCheck = cloud::LoadBalancerSpec::HealthCheck;

void contradiction(std::string_view annotation, std::string_view what, Complaints& complaints) {
  complaints.add(complaint::annotation,
                 fmt::format("{}{}: {}", kAnnotationPrefix, annotation, what));
}

bool has_own_check(const ServiceWishes& wishes) {
  return wishes.check_protocol || wishes.check_port || wishes.check_path;
}

HealthCheck http_check(std::uint16_t port) {
  return {
      .protocol = HealthCheck::Protocol::http, .port = port, .http_path = std::string(kHealthPath)};
}

NodeCheck local_check(const kube::Service& service, const ServiceWishes& wishes,
                      Complaints& complaints) {
  if (wishes.node_health) {
    contradiction("health-check-node",
                  "has no meaning under externalTrafficPolicy Local, where healthCheckNodePort "
                  "says which Nodes have pods; remove it",
                  complaints);
  }
  if (wishes.check_protocol == HealthCheck::Protocol::tcp && !wishes.check_port) {
    contradiction("health-check-protocol",
                  "under externalTrafficPolicy Local a connection to healthCheckNodePort succeeds "
                  "on every Node, with and without pods; remove it",
                  complaints);
  }
  const std::int32_t port = service.health_check_node_port;
  const bool is_port = port > 0 && port <= std::numeric_limits<std::uint16_t>::max();
  if (!is_port && !wishes.check_port) {
    complaints.add(complaint::health_check,
                   "externalTrafficPolicy is Local and the Service has no healthCheckNodePort, so "
                   "nobody can tell which Nodes have its pods; set externalTrafficPolicy to "
                   "Cluster and back to be given one");
  }
  return {.check = http_check(is_port ? static_cast<std::uint16_t>(port) : std::uint16_t{0})};
}

NodeCheck cluster_check(const ServiceWishes& wishes, const ServicePlanOptions& options,
                        const ServiceSurroundings& surroundings, Complaints& complaints) {
  const NodeHealth asked = wishes.node_health.value_or(options.node_health);
  const bool is_automatic = asked == NodeHealth::automatic;
  const bool is_own = has_own_check(wishes);
  NodeHealth by = asked;
  // An own check must not change by itself when the Nodes turn out to answer elsewhere.
  if (is_automatic) by = is_own ? NodeHealth::kube_proxy : surroundings.automatic;
  if (by == NodeHealth::automatic) by = NodeHealth::kube_proxy;
  if (by == NodeHealth::kubelet && wishes.check_protocol == HealthCheck::Protocol::http &&
      !wishes.check_port) {
    contradiction("health-check-protocol",
                  "the kubelet's port does not speak plain HTTP; add health-check-port, or set "
                  "health-check-node to kube-proxy",
                  complaints);
  }
  const HealthCheck check = by == NodeHealth::kubelet
                                ? HealthCheck{.port = surroundings.nodes.kubelet_port}
                                : http_check(kKubeProxyHealthPort);
  if (is_own) return {.check = check};
  return {.check = check, .by = by, .may_switch = is_automatic};
}

void replace_what_is_asked(const ServiceWishes& wishes, HealthCheck& check,
                           Complaints& complaints) {
  if (wishes.check_port) check.port = *wishes.check_port;
  if (wishes.check_protocol) check.protocol = *wishes.check_protocol;
  if (check.protocol == HealthCheck::Protocol::http) {
    check.http_path = wishes.check_path.value_or(std::string(kHealthPath));
    return;
  }
  check.http_path.clear();
  if (wishes.check_path) {
    contradiction("health-check-path",
                  fmt::format("a TCP check has no path; remove it, or set {}health-check-protocol "
                              "to http",
                              kAnnotationPrefix),
                  complaints);
  }
}

void replace_how_often(const ServiceWishes& wishes, HealthCheck& check, Complaints& complaints) {
  check.interval = wishes.check_interval.value_or(check.interval);
  check.timeout = wishes.check_timeout.value_or(std::min(check.timeout, check.interval));
  check.rise = wishes.check_rise.value_or(check.rise);
  check.fall = wishes.check_fall.value_or(check.fall);
  if (check.timeout > check.interval) {
    contradiction("health-check-timeout",
                  fmt::format("{} is longer than the interval, {}", format_duration(check.timeout),
                              format_duration(check.interval)),
                  complaints);
  }
}

}  // namespace

bool is_local(const kube::Service& service) { return service.external_traffic_policy == "Local"; }

NodeCheck node_check_of(const kube::Service& service, const ServiceWishes& wishes,
                        const ServicePlanOptions& options, const ServiceSurroundings& surroundings,
                        Complaints& complaints) {
  NodeCheck result = is_local(service) ? local_check(service, wishes, complaints)
                                       : cluster_check(wishes, options, surroundings, complaints);
  replace_what_is_asked(wishes, result.check, complaints);
  replace_how_often(wishes, result.check, complaints);
  return result;
}

}  // namespace isthmus::controllers

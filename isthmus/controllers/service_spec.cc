#include "isthmus/controllers/service_spec.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/controllers/node_check.h"
#include "isthmus/controllers/service_addresses.h"
#include "isthmus/controllers/source_ranges.h"
#include "isthmus/kube/api/names.h"

namespace isthmus::controllers {
namespace {

using Spec = cloud::LoadBalancerSpec;

constexpr std::size_t kPortsMax = 100;  // Listeners of one load balancer: the backend's limit.

std::string named(const kube::ServicePort& port) {
  return port.name.empty() ? fmt::format("{}/{}", port.protocol, port.port)
                           : fmt::format("{} ({}/{})", port.name, port.protocol, port.port);
}

bool is_port(std::int32_t number) {
  return number > 0 && number <= std::numeric_limits<std::uint16_t>::max();
}

std::optional<cloud::Protocol> protocol_of(const kube::ServicePort& port) {
  if (port.protocol == "TCP") return cloud::Protocol::tcp;
  if (port.protocol == "UDP") return cloud::Protocol::udp;
  return std::nullopt;
}

std::string default_name(const Spec::Listener& listener) {
  return fmt::format("{}-{}", listener.protocol == cloud::Protocol::tcp ? "tcp" : "udp",
                     listener.port);
}

// Listeners are called like their ports. The API server sees to it that these names are DNS labels
// and unique; where it did not, all go by protocol and port, which are.
void name_listeners(const std::vector<kube::ServicePort>& ports,
                    std::vector<Spec::Listener>& listeners) {
  std::set<std::string> names;
  bool are_right = true;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    const std::string& given = ports[i].name;
    listeners[i].name = given.empty() ? default_name(listeners[i]) : given;
    const bool is_label = listeners[i].name.find('.') == std::string::npos &&
                          listeners[i].name.size() <= 63 &&
                          kube::check_dns_subdomain(listeners[i].name).has_value();
    are_right = are_right && is_label && names.insert(listeners[i].name).second;
  }
  if (are_right) return;
  for (Spec::Listener& listener : listeners) listener.name = default_name(listener);
}

void complain_of_ports(const kube::Service& service, Complaints& complaints) {
  std::vector<std::string> foreign;
  std::vector<std::string> impossible;
  std::vector<std::string> twice;
  std::vector<std::string> without_node_port;
  std::set<std::pair<std::string_view, std::int32_t>> seen;
  for (const kube::ServicePort& port : service.ports) {
    if (!protocol_of(port)) foreign.push_back(named(port));
    if (!is_port(port.port)) impossible.push_back(named(port));
    if (!seen.emplace(port.protocol, port.port).second) twice.push_back(named(port));
    if (!is_port(port.node_port)) without_node_port.push_back(named(port));
  }
  if (service.ports.empty()) {
    complaints.add(complaint::port, "the Service has no ports; give it at least one");
  }
  if (service.ports.size() > kPortsMax) {
    complaints.add(complaint::too_many_ports,
                   fmt::format("{} ports are more than the {} that one load balancer can have; "
                               "split the Service",
                               service.ports.size(), kPortsMax));
  }
  if (!foreign.empty()) {
    complaints.add(
        complaint::protocol,
        fmt::format("only TCP and UDP can be balanced, not port {}; move it to a Service "
                    "of another type",
                    some_of(foreign)));
  }
  if (!impossible.empty()) {
    complaints.add(complaint::port, fmt::format("{} is no port", some_of(impossible)));
  }
  if (!twice.empty()) {
    complaints.add(complaint::port, fmt::format("port {} is there twice", some_of(twice)));
  }
  if (!without_node_port.empty()) {
    const bool is_chosen = service.allocate_node_ports == false;
    complaints.add(
        complaint::node_port,
        fmt::format("traffic reaches the Nodes by node ports, and port {} has none{}; {}",
                    some_of(without_node_port),
                    is_chosen ? ", as allocateLoadBalancerNodePorts is false" : "",
                    is_chosen ? "set it to true, or give every port a nodePort"
                              : "give every port a nodePort"));
  }
}

std::vector<Spec::Listener> listeners_of(const kube::Service& service, Complaints& complaints) {
  Complaints found;
  complain_of_ports(service, found);
  std::vector<Spec::Listener> listeners;
  if (!found.empty()) {
    complaints.add(found.refusal().reason, found.refusal().message);
    return listeners;
  }
  for (const kube::ServicePort& port : service.ports) {
    listeners.push_back({.protocol = *protocol_of(port),
                         .port = static_cast<std::uint16_t>(port.port),
                         .target_port = static_cast<std::uint16_t>(port.node_port)});
  }
  name_listeners(service.ports, listeners);
  return listeners;
}

void set_label(Spec& spec, std::string_view key, std::string_view value) {
  if (!value.empty() && kube::check_label_value(value)) spec.labels.emplace(key, value);
}

void set_labels(const kube::Service& service, const ServiceSurroundings& surroundings,
                EnsureService& ensure) {
  set_label(ensure.spec, cloud::kClusterLabel, surroundings.cluster.text());
  set_label(ensure.spec, kNamespaceLabel, service.meta.key.name_space);
  set_label(ensure.spec, kNameLabel, service.meta.key.name);
  if (ensure.may_switch) {
    set_label(ensure.spec, kNodeHealthLabel, to_string(ensure.checked_by));
  }
}

// A load balancer without any target is told of where the Nodes are known as a whole.
void note_missing_family(const EligibleNodes& nodes, const std::vector<IpFamily>& families,
                         std::vector<Notice>& notices) {
  if (nodes.targets.empty()) return;
  for (const IpFamily family : families) {
    const bool has_one = std::ranges::any_of(nodes.targets, [&](const cloud::Target& target) {
      return std::ranges::find(target.addresses, family, &IpAddress::family) !=
             target.addresses.end();
    });
    if (has_one) continue;
    notices.push_back({true, "UnAvailableLoadBalancer",
                       fmt::format("There are no available nodes for LoadBalancer over {0}: none "
                                   "has an {0} InternalIP",
                                   to_string(family))});
  }
}

void note_closed_families(const std::vector<IpFamily>& closed, std::vector<Notice>& notices) {
  for (const IpFamily family : closed) {
    notices.push_back({true, "SourceRangesCloseFamily",
                       fmt::format("no {} client is let in, because none of the source ranges is "
                                   "{}; to let everyone in, add {}",
                                   to_string(family), to_string(family),
                                   family == IpFamily::v4 ? "0.0.0.0/0" : "::/0")});
  }
}

}  // namespace

SpecifiedService specify(const kube::Service& service, std::string name,
                         const ServicePlanOptions& options,
                         const ServiceSurroundings& surroundings) {
  SpecifiedService result;
  Mistakes mistakes;
  ServiceWishes wishes = read_annotations(service.meta.annotations, mistakes);
  if (!mistakes.empty()) {
    result.complaints.add(complaint::annotation,
                          fmt::format("{}", fmt::join(mistakes.list(), "; ")));
    wishes = {};  // Half a wish is none.
  }

  Spec& spec = result.ensure.spec;
  spec.name = std::move(name);
  spec.pool = wishes.pool;
  ServiceAddresses addresses = addresses_of(service, wishes, result.complaints, result.notices);
  spec.requested_addresses = std::move(addresses.requested);
  spec.preferred_addresses = std::move(addresses.preferred);
  spec.families = std::move(addresses.families);
  spec.listeners = listeners_of(service, result.complaints);

  SourceRanges sources = source_ranges(service, spec.families, result.complaints);
  note_closed_families(sources.closed, result.notices);
  spec.source_ranges = std::move(sources.allowed);

  NodeCheck check = node_check_of(service, wishes, options, surroundings, result.complaints);
  spec.health_check = std::move(check.check);
  result.ensure.checked_by = check.by;
  result.ensure.may_switch = check.may_switch;

  spec.target_set = surroundings.target_set;
  if (spec.target_set.empty()) spec.targets = surroundings.nodes.targets;
  note_missing_family(surroundings.nodes, spec.families, result.notices);

  if (service.session_affinity == "ClientIP") spec.affinity = Spec::Affinity::client_ip;
  spec.source_address = wishes.source_address;
  result.ensure.add_finalizer = !service.meta.has_finalizer(kServiceFinalizer);
  set_labels(service, surroundings, result.ensure);
  return result;
}

}  // namespace isthmus::controllers

#include "isthmus/controllers/service_plan.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isthmus/base/duration.h"
#include "isthmus/controllers/service_addresses.h"
#include "isthmus/controllers/service_spec.h"

namespace isthmus::controllers {
namespace {

bool wants_balancer(const kube::Service& service) { return service.type == "LoadBalancer"; }

// "… served elsewhere", "… not served here any more".
std::string whose(const kube::Service& service) {
  return service.load_balancer_class
             ? fmt::format("loadBalancerClass {} is", *service.load_balancer_class)
             : "Services without a loadBalancerClass are";
}

ServicePlan leave(std::string why, std::vector<Notice> notices = {}) {
  return {LeaveService{.why = std::move(why), .forget = notices.empty()}, std::move(notices)};
}

// Somebody else's Service, whatever its finalizers say: the name of ours is upstream's, and taking
// it away would let the Service vanish before its own implementation has cleaned up. Only what the
// cloud has of this very Service proves that we served it before the flags changed.
ServicePlan plan_foreign(const kube::Service& service, const std::string& name,
                         const ServiceSurroundings& surroundings) {
  std::string why = whose(service) + " served elsewhere";
  if (!surroundings.has_balancer) return leave(std::move(why));
  if (service.meta.deletion_time) {
    return {ReleaseService{.name = name,
                           .why = "it is being deleted, and was served here before",
                           .remove_finalizer = service.meta.has_finalizer(kServiceFinalizer)}};
  }
  std::string message = fmt::format(
      "load balancer {} of this Service is kept, though {} not served here any more; "
      "delete the Service to be rid of it, or have it served here again",
      name, whose(service));
  return leave(std::move(why), {{true, "LoadBalancerKept", std::move(message)}});
}

// One that shall have none: it is being deleted, or has another type.
ServicePlan plan_release(const kube::Service& service, const std::string& name, std::string why,
                         const ServicePlanOptions& options,
                         const ServiceSurroundings& surroundings) {
  const bool has_finalizer = service.meta.has_finalizer(kServiceFinalizer);
  // A Service of another type shows no class any more. Where somebody else serves those without a
  // class, the finalizer alone may as well be theirs.
  const bool is_finalizer_ours =
      surroundings.has_balancer || wants_balancer(service) || options.serves_unclassed;
  if (!surroundings.has_balancer && !(has_finalizer && is_finalizer_ours)) {
    return leave(std::move(why) + ", and has nothing of ours");
  }
  return {ReleaseService{.name = name,
                         .why = std::move(why),
                         .clear_status = !service.ingress.empty(),
                         .remove_finalizer = has_finalizer}};
}

// One that disappears, or appears where none should be. That it appears on a Service which is to
// have a load balancer is the answer to our own write, and tells nothing that was not known.
bool is_finalizer_news(const kube::Service& before, const kube::Service& after) {
  const bool had_it = before.meta.has_finalizer(kServiceFinalizer);
  const bool has_it = after.meta.has_finalizer(kServiceFinalizer);
  return had_it ? !has_it : has_it && !wants_balancer(after);
}

bool has_same_ports(const kube::Service& left, const kube::Service& right) {
  return std::ranges::equal(left.ports, right.ports, [](const auto& one, const auto& other) {
    return std::tie(one.name, one.protocol, one.port, one.node_port) ==
           std::tie(other.name, other.protocol, other.port, other.node_port);
  });
}

// Everything that plan_service reads of the spec. (A field missing here is a load balancer that
// does not follow; service_plan_changes_test.cc compares the two.)
auto wish(const kube::Service& service) {
  return std::tie(service.type, service.load_balancer_class, service.load_balancer_ip,
                  service.load_balancer_source_ranges, service.cluster_ips, service.ip_families,
                  service.external_traffic_policy, service.health_check_node_port,
                  service.session_affinity, service.allocate_node_ports);
}

bool has_same_annotations(const kube::Service& left, const kube::Service& right) {
  const auto ours = [](const kube::Service& service) {
    kube::StringMap found;
    for (const auto& [key, value] : service.meta.annotations) {
      if (is_service_annotation(key)) found.set(key, value);
    }
    return found;
  };
  return ours(left) == ours(right);
}

using Spec = cloud::LoadBalancerSpec;

template <class Items>
std::string joined(const Items& items) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(to_string(item));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string listeners(const Spec& spec) {
  std::vector<std::string> texts;
  for (const Spec::Listener& listener : spec.listeners) {
    texts.push_back(fmt::format("{} {}/{} to {}", listener.name,
                                listener.protocol == cloud::Protocol::tcp ? "TCP" : "UDP",
                                listener.port, listener.target_port));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string addresses(const Spec& spec) {
  std::vector<std::string_view> families;
  for (const IpFamily family : spec.families) families.push_back(to_string(family));
  std::string text = fmt::format("; {}", fmt::join(families, " and "));
  if (!spec.requested_addresses.empty()) text += " at " + joined(spec.requested_addresses);
  if (!spec.preferred_addresses.empty()) text += " if free at " + joined(spec.preferred_addresses);
  if (!spec.pool.empty()) text += " from pool " + spec.pool;
  return text;
}

std::string health_check(const Spec& spec) {
  if (!spec.health_check) return "; no health check";
  const Spec::HealthCheck& check = *spec.health_check;
  const bool is_http = check.protocol == Spec::HealthCheck::Protocol::http;
  return fmt::format("; healthy by {} {}{} every {} within {}, up after {}, down after {}",
                     is_http ? "HTTP" : "TCP", check.port, check.http_path,
                     format_duration(check.interval), format_duration(check.timeout), check.rise,
                     check.fall);
}

std::string targets(const Spec& spec) {
  if (!spec.target_set.empty()) return "; targets of " + spec.target_set;
  std::vector<std::string_view> names;
  for (const cloud::Target& target : spec.targets) names.push_back(target.name);
  return names.empty() ? "; no targets" : fmt::format("; targets {}", fmt::join(names, ", "));
}

struct Describe {
  std::string operator()(const LeaveService& leave) const { return "leave alone: " + leave.why; }
  std::string operator()(const RefuseService& refuse) const {
    return fmt::format("refuse: {}: {}", refuse.reason, refuse.message);
  }
  std::string operator()(const ReleaseService& act) const {
    return fmt::format("release {}: {}{}{}", act.name, act.why,
                       act.clear_status ? "; no status" : "",
                       act.remove_finalizer ? "; no finalizer" : "");
  }
  std::string operator()(const EnsureService& act) const {
    const Spec& spec = act.spec;
    std::string text = fmt::format("ensure {}: {}", spec.name, listeners(spec));
    text += addresses(spec) + targets(spec) + health_check(spec);
    if (!spec.source_ranges.empty()) text += "; clients of " + joined(spec.source_ranges);
    if (spec.affinity == Spec::Affinity::client_ip) text += "; affinity by client address";
    if (spec.source_address) {
      const bool keeps = *spec.source_address == Spec::SourceAddress::keep;
      text += keeps ? "; source address kept" : "; source address masqueraded";
    }
    if (act.add_finalizer) text += "; finalizer";
    return text;
  }
};

}  // namespace

// From the strongest reason to the weakest: it cannot be named, it is somebody else's, it is
// leaving, it asks for something impossible, it is to have one.
ServicePlan plan_service(const kube::Service& service, const ServicePlanOptions& options,
                         const ServiceSurroundings& surroundings) {
  Result<std::string> name =
      cloud::owned_name(kBalancerKind, surroundings.cluster, service.meta.uid);
  if (!name) return leave("its uid is no UUID, so nothing can be named after it");
  if (wants_balancer(service) && !is_served(service, options)) {
    return plan_foreign(service, *name, surroundings);
  }
  if (service.meta.deletion_time) {
    return plan_release(service, *name, "it is being deleted", options, surroundings);
  }
  if (!wants_balancer(service)) {
    return plan_release(service, *name, "its type is not LoadBalancer", options, surroundings);
  }
  SpecifiedService specified = specify(service, *std::move(name), options, surroundings);
  if (!specified.complaints.empty()) return {specified.complaints.refusal()};
  return {std::move(specified.ensure), std::move(specified.notices)};
}

bool is_served(const kube::Service& service, const ServicePlanOptions& options) {
  return service.load_balancer_class ? options.classes.contains(*service.load_balancer_class)
                                     : options.serves_unclassed;
}

bool concerns_us(const kube::Service& service) {
  return wants_balancer(service) || service.meta.has_finalizer(kServiceFinalizer);
}

bool service_change_matters(const kube::Difference<kube::Service>& difference) {
  const auto concerns = [](const kube::Snapshot<kube::Service>& service) {
    return service && concerns_us(*service);
  };
  if (!concerns(difference.before) && !concerns(difference.after)) return false;
  if (!difference.before || !difference.after) return true;
  const kube::Service& before = *difference.before;
  const kube::Service& after = *difference.after;
  return before.meta.uid != after.meta.uid ||
         before.meta.deletion_time.has_value() != after.meta.deletion_time.has_value() ||
         is_finalizer_news(before, after) || wish(before) != wish(after) ||
         !has_same_ports(before, after) || !has_same_annotations(before, after) ||
         before.ingress != after.ingress;
}

std::vector<kube::LoadBalancerIngress> ingress_of(const cloud::LoadBalancerState& state) {
  std::vector<kube::LoadBalancerIngress> ingress;
  for (const IpAddress& address : state.addresses) {
    ingress.push_back(
        {.ip = to_string(address), .ip_mode = state.must_be_passed ? "Proxy" : "VIP"});
  }
  return ingress;
}

std::vector<IpAddress> addresses_in(const std::vector<kube::LoadBalancerIngress>& ingress) {
  std::vector<IpAddress> addresses;
  for (const kube::LoadBalancerIngress& entry : ingress) {
    if (const Result<IpAddress> address = parse_ip(entry.ip)) addresses.push_back(*address);
  }
  return addresses;
}

std::string describe(const ServicePlan& plan) { return std::visit(Describe{}, plan.what); }

}  // namespace isthmus::controllers

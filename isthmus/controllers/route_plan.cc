#include "isthmus/controllers/route_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "isthmus/base/text.h"
#include "isthmus/controllers/eligible_nodes.h"
#include "isthmus/controllers/node_addresses.h"
#include "isthmus/controllers/node_plan.h"
#include "isthmus/controllers/pod_cidr.h"

namespace isthmus::controllers {
namespace {

using cloud::Route;
using cloud::RouteState;
using Claim = NodeRoutes::Claim;
using Step = PlannedRoute::Step;

// Whose a destination is. Those that are held never overlap, and no machine lies in one.
class Holders {
 public:
  explicit Holders(std::set<IpAddress> machines) : machines_(std::move(machines)) {}

  // A machine that packets to the destination would be sent to, instead of to a pod; null: none.
  const IpAddress* machine_in(const IpPrefix& destination) const {
    const auto next = machines_.lower_bound(destination.address);
    return next != machines_.end() && destination.contains(*next) ? &*next : nullptr;
  }

  // The holder of what the destination overlaps; null: nobody.
  const kube::Node* find(const IpPrefix& destination) const {
    const auto next = held_.lower_bound(destination);
    if (next != held_.end() && destination.contains(next->first)) return next->second;
    if (next == held_.begin()) return nullptr;
    const auto before = std::prev(next);
    return before->first.contains(destination) ? before->second : nullptr;
  }
  // Whose a route that stands is, though it would not be made.
  const kube::Node* find_exactly(const IpPrefix& destination) const {
    if (const auto found = held_.find(destination); found != held_.end()) return found->second;
    const auto found = unfit_.find(destination);
    return found == unfit_.end() ? nullptr : found->second;
  }
  void add(const IpPrefix& destination, const kube::Node& node) {
    held_.emplace(destination, &node);
  }
  // It holds machines, and keeps no other Node from its own.
  void add_unfit(const IpPrefix& destination, const kube::Node& node) {
    unfit_.emplace(destination, &node);
  }

 private:
  const std::set<IpAddress> machines_;
  std::map<IpPrefix, const kube::Node*> held_;
  std::map<IpPrefix, const kube::Node*> unfit_;
};

bool is_inside(const IpPrefix& destination, const std::vector<IpPrefix>& ranges) {
  return std::ranges::any_of(ranges,
                             [&](const IpPrefix& range) { return range.contains(destination); });
}

bool may_have_routes(const kube::Node& node) {
  return !node.meta.deletion_time && !is_tainted(node);
}

// The machine of this cloud that it is, if any.
std::optional<cloud::ProviderId> machine_of(const kube::Node& node, std::string_view scheme) {
  const Result<cloud::ProviderId> id = cloud::parse_provider_id(node.provider_id);
  if (!id || id->scheme != scheme) return {};
  return *id;
}

// The address that the kubelet was told to use, once the Node shows that the machine has it.
std::optional<IpAddress> told_address(const kube::Node& node, IpFamily family) {
  const auto told = node.meta.annotations.find(kProvidedNodeIpAnnotation);
  if (!told) return {};
  for (const std::string_view part : split(*told, ',')) {
    const Result<IpAddress> address = parse_ip(trimmed(part));
    if (!address || address->family != family) continue;
    for (const kube::NodeAddress& shown : node.addresses) {
      if (shown.type == "InternalIP" && parse_ip(shown.address) == address) return *address;
    }
  }
  return {};
}

// Where load balancers would send to it.
std::optional<IpAddress> own_address(const kube::Node& node, IpFamily family) {
  for (const IpAddress& address : target_of(node).addresses) {
    if (address.family == family) return address;
  }
  return {};
}

// Where packets to pods are sent, whatever state the Nodes are in.
std::set<IpAddress> next_hops_of(
    const std::map<kube::ObjectKey, kube::Snapshot<kube::Node>>& nodes) {
  std::set<IpAddress> addresses;
  for (const auto& [key, node] : nodes) {
    for (const IpFamily family : {IpFamily::v4, IpFamily::v6}) {
      if (const auto told = told_address(*node, family)) addresses.insert(*told);
      if (const auto own = own_address(*node, family)) addresses.insert(*own);
    }
  }
  return addresses;
}

Notice refusal(std::string_view reason, std::string message) {
  return {.reason = std::string(reason), .message = std::move(message)};
}

// What one pod CIDR comes to: held by the Node from now on, or a reason why not.
void claim(const kube::Node& node, const std::string& text, const RoutePlanOptions& options,
           Holders& holders, NodeRoutes& entry) {
  const Result<IpPrefix> cidr = parse_pod_cidr(text);
  if (!cidr) {
    entry.claim = Claim::unfit;
    entry.notices.push_back(refusal("InvalidPodCIDR", "spec.podCIDRs: " + cidr.error().message));
    return;
  }
  if (!is_inside(*cidr, options.cluster_cidrs)) {
    entry.claim = Claim::unfit;
    entry.notices.push_back(
        refusal("PodCIDROutsideClusterCIDR",
                fmt::format("no route is made to {}: it lies outside of --cluster-cidr={}; correct "
                            "that flag, or the allocator of pod CIDRs",
                            to_string(*cidr), describe(options.cluster_cidrs))));
    return;
  }
  if (const IpAddress* machine = holders.machine_in(*cidr)) {
    entry.claim = Claim::unfit;
    entry.notices.push_back(refusal(
        "PodCIDRHoldsMachines",
        fmt::format("no route is made to {}: it holds {}, the address of a Node; keep "
                    "--cluster-cidr={} apart from the network of the machines",
                    to_string(*cidr), to_string(*machine), describe(options.cluster_cidrs))));
    holders.add_unfit(*cidr, node);
    return;
  }
  const kube::Node* holder = holders.find(*cidr);
  if (holder != nullptr && holder != &node) {
    if (entry.claim != Claim::unfit) entry.claim = Claim::contested;
    entry.notices.push_back(
        refusal("PodCIDRConflict",
                fmt::format("no route is made to {} of Node {}: it overlaps a pod CIDR of Node {}, "
                            "which is older and keeps it; delete one of the two Nodes, so that it "
                            "registers anew",
                            to_string(*cidr), node.meta.key.name, holder->meta.key.name)));
    return;
  }
  if (holder == nullptr) holders.add(*cidr, node);
  const bool is_new =
      std::ranges::find(entry.routes, *cidr, &Route::destination) == entry.routes.end();
  if (is_new) entry.routes.push_back({.destination = *cidr});
}

NodeRoutes routes_of(const kube::Node& node, const RoutePlanOptions& options, Holders& holders) {
  NodeRoutes entry{.uid = node.meta.uid};
  if (!node.pod_cidrs.empty()) entry.claim = Claim::whole;
  for (const std::string& text : node.pod_cidrs) claim(node, text, options, holders, entry);
  entry.is_served = may_have_routes(node);
  if (!entry.is_served) {
    entry.routes.clear();
    entry.notices.clear();
    return entry;
  }
  const std::optional<cloud::ProviderId> machine = machine_of(node, options.scheme);
  entry.is_ours = machine.has_value();
  for (Route& route : entry.routes) {
    const IpFamily family = route.destination.address.family;
    route.instance = machine;
    route.next_hop = machine ? told_address(node, family) : own_address(node, family);
    if (machine || route.next_hop) continue;
    entry.notices.push_back(refusal(
        "NoNodeAddress", fmt::format("no route is made to {}: the Node has no {} InternalIP "
                                     "to send to, and its machine is not in this cloud",
                                     to_string(route.destination), to_string(family))));
  }
  std::erase_if(entry.routes,
                [](const Route& route) { return !route.instance && !route.next_hop; });
  return entry;
}

// The older first: by creation, and by name among those of one second.
std::vector<const kube::Node*> by_age(
    const std::map<kube::ObjectKey, kube::Snapshot<kube::Node>>& nodes) {
  std::vector<const kube::Node*> sorted;
  sorted.reserve(nodes.size());
  for (const auto& [key, node] : nodes) sorted.push_back(node.get());
  std::ranges::sort(sorted, {}, [](const kube::Node* one) {
    return std::tie(one->meta.creation_time, one->meta.key);
  });
  return sorted;
}

PlannedRoute wanted(Route route, const kube::ObjectKey& node, const RouteState* present) {
  PlannedRoute planned{.route = std::move(route), .step = Step::create, .node = node};
  if (present == nullptr) return planned;
  planned.present = *present;
  const bool same_machine = present->instance && present->instance == planned.route.instance;
  planned.step = is_about(*present, planned.route) ? Step::keep
                 : same_machine                    ? Step::replace
                                                   : Step::move;
  return planned;
}

}  // namespace

RoutePlan plan_routes(const std::map<kube::ObjectKey, kube::Snapshot<kube::Node>>& nodes,
                      const std::vector<RouteState>& present, const RoutePlanOptions& options) {
  RoutePlan plan;
  Holders holders(next_hops_of(nodes));
  std::map<IpPrefix, PlannedRoute> routes;
  std::map<IpPrefix, const RouteState*> stands;
  for (const RouteState& state : present) {
    if (!state.is_foreign) stands.emplace(state.destination, &state);
  }
  for (const kube::Node* node : by_age(nodes)) {
    NodeRoutes entry = routes_of(*node, options, holders);
    for (const Route& route : entry.routes) {
      const auto found = stands.find(route.destination);
      routes.emplace(route.destination, wanted(route, node->meta.key,
                                               found == stands.end() ? nullptr : found->second));
    }
    plan.nodes.emplace(node->meta.key, std::move(entry));
  }
  std::map<IpPrefix, const RouteState*> ownerless;
  for (const auto& [destination, state] : stands) {
    if (routes.contains(destination)) continue;
    const kube::Node* holder = holders.find_exactly(destination);
    if (holder == nullptr && is_inside(destination, options.cluster_cidrs)) {
      plan.ownerless.push_back(*state);
      ownerless.emplace(destination, state);
      continue;
    }
    routes.emplace(destination,
                   PlannedRoute{.route = route_of(*state),
                                .node = holder == nullptr ? kube::ObjectKey() : holder->meta.key,
                                .present = *state});
  }
  plan.routes.reserve(routes.size());
  for (auto& [destination, planned] : routes) {
    const bool overlaps = planned.step == Step::create &&
                          any_overlapping(ownerless, destination, [](const auto*) { return true; });
    if (overlaps) planned.step = Step::overlap;
    plan.routes.push_back(std::move(planned));
  }
  return plan;
}

Route route_of(const RouteState& state) {
  return {.destination = state.destination, .instance = state.instance, .next_hop = state.next_hop};
}

std::vector<IpPrefix> pod_cidrs_of(const kube::Node& node) {
  std::set<IpPrefix> cidrs;
  for (const std::string& text : node.pod_cidrs) {
    if (const Result<IpPrefix> cidr = parse_pod_cidr(text)) cidrs.insert(*cidr);
  }
  return {cidrs.begin(), cidrs.end()};
}

bool route_change_matters(const kube::Difference<kube::Node>& difference) {
  if (!difference.before || !difference.after) return true;
  const kube::Node& before = *difference.before;
  const kube::Node& after = *difference.after;
  const auto next_hops = [](const kube::Node& node) {
    return std::tuple(told_address(node, IpFamily::v4), told_address(node, IpFamily::v6),
                      own_address(node, IpFamily::v4), own_address(node, IpFamily::v6));
  };
  return before.meta.uid != after.meta.uid || before.pod_cidrs != after.pod_cidrs ||
         before.provider_id != after.provider_id ||
         before.meta.deletion_time.has_value() != after.meta.deletion_time.has_value() ||
         is_tainted(before) != is_tainted(after) || next_hops(before) != next_hops(after);
}

}  // namespace isthmus::controllers

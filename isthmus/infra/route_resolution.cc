#include "isthmus/infra/route_resolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "isthmus/infra/api/prefix_set.h"

namespace isthmus::infra {
namespace {

using api::RouteState;
using drivers::InterfaceAddress;

// The host as far as it matters to routes.
class Links {
 public:
  explicit Links(const std::vector<InterfaceAddress>& host) {
    for (const InterfaceAddress& one : host) {
      addresses_.emplace(one.address, &one);
      if (one.bits == one.address.size() * 8) continue;
      const IpPrefix network = prefix_around(one.address, one.bits);
      networks_.insert(network);
      // Of several in one network, the first that anything passes.
      const InterfaceAddress*& link = connected_.emplace(network, &one).first->second;
      if (link->link_down && !one.link_down) link = &one;
    }
  }

  // The interface that is connected to the longest network around the address; nullptr: none is.
  const InterfaceAddress* towards(const IpAddress& address) const {
    const std::vector<IpPrefix> around = networks_.around(address);
    return around.empty() ? nullptr : connected_.at(around[0]);
  }

  const std::map<IpAddress, const InterfaceAddress*>& addresses() const { return addresses_; }

 private:
  std::map<IpAddress, const InterfaceAddress*> addresses_;
  api::PrefixSet networks_;
  std::map<IpPrefix, const InterfaceAddress*> connected_;
};

class Resolver {
 public:
  Resolver(const RouteTableRecord& record, const InstanceSnapshot* machines,
           const std::vector<InterfaceAddress>& host)
      : machines_(machines), links_(host) {
    for (const api::RouteEntry& route : record.spec.routes) {
      destinations_.insert(route.destination);
    }
    for (const auto& [address, one] : links_.addresses()) {
      for (const IpPrefix& around : destinations_.around(address)) taken_.emplace(around, one);
    }
  }

  WantedRoute resolve(const api::RouteEntry& entry) const {
    auto taken = taken_.find(entry.destination);
    if (taken != taken_.end()) {
      return none(entry, RouteState::conflict, route_reason::connected,
                  fmt::format("{} of {} lies in it, and it would take the host's own network",
                              to_string(taken->second->address), taken->second->interface));
    }
    if (entry.next_hop) return towards(entry, *entry.next_hop);
    const InstanceRecord* machine =
        machines_ == nullptr ? nullptr : machines_->find(entry.instance);
    if (machine == nullptr || machine->instance.presence == api::Presence::absent) {
      return none(entry, RouteState::pending, route_reason::instance_unknown,
                  fmt::format("the inventory has no machine {}", entry.instance));
    }
    const IpFamily family = entry.destination.address.family;
    for (const api::Address& address : machine->instance.addresses) {
      if (address.type != api::AddressType::internal_ip) continue;
      const Result<IpAddress> parsed = parse_ip(address.address);
      if (parsed && parsed->family == family) return towards(entry, *parsed);
    }
    return none(entry, RouteState::pending, route_reason::no_next_hop,
                fmt::format("machine {} has no {} address of type InternalIP", entry.instance,
                            to_string(family)));
  }

 private:
  static WantedRoute none(const api::RouteEntry& entry, RouteState state, std::string_view reason,
                          std::string message) {
    return {std::nullopt, {entry.destination, state, std::string(reason), std::move(message)}};
  }

  WantedRoute towards(const api::RouteEntry& entry, const IpAddress& next_hop) const {
    const std::vector<IpPrefix> around = destinations_.around(next_hop);
    if (!around.empty()) {
      return none(entry, RouteState::pending, route_reason::not_on_link,
                  fmt::format("{} lies in {}, which is routed itself", to_string(next_hop),
                              to_string(around[0])));
    }
    const InterfaceAddress* link = links_.towards(next_hop);
    if (link == nullptr) {
      return none(entry, RouteState::pending, route_reason::not_on_link,
                  fmt::format("no interface of this host is connected to {}", to_string(next_hop)));
    }
    if (links_.addresses().contains(next_hop)) {
      return none(entry, RouteState::pending, route_reason::not_on_link,
                  fmt::format("{} is an address of this host", to_string(next_hop)));
    }
    if (link->link_down) {
      return none(entry, RouteState::pending, route_reason::link_down,
                  fmt::format("{} is down", link->interface));
    }
    return {drivers::HostRoute{entry.destination, next_hop, link->interface}, {}};
  }

  const InstanceSnapshot* machines_;
  Links links_;
  api::PrefixSet destinations_;
  std::map<IpPrefix, const InterfaceAddress*> taken_;  // Destinations with addresses of the host.
};

using Held = std::vector<drivers::HostRoute>;
using Kind = drivers::RouteChange::Kind;

// What becomes of the routes from `first` to `last` that are held for one destination. Of several,
// which are others' work, the one that is right stays.
void compare_one(const WantedRoute& wanted, Held::const_iterator first, Held::const_iterator last,
                 RouteWork& work) {
  if (!wanted.route) return;
  const bool is_there = std::find(first, last, *wanted.route) != last;
  if (!is_there) work.changes.push_back({Kind::replace, *wanted.route});
  bool was_kept = is_there;
  for (; first != last; ++first) {
    // Without the right one, the first is replaced by it.
    if (*first == *wanted.route || !std::exchange(was_kept, true)) continue;
    work.changes.push_back({Kind::remove, *first});
  }
}

}  // namespace

void resolve(const RouteTableRecord& record, const InstanceSnapshot* machines,
             const std::vector<drivers::InterfaceAddress>& host, WantedRoutes& wanted) {
  const Resolver resolver(record, machines, host);
  for (const api::RouteEntry& entry : record.spec.routes) {
    wanted.insert_or_assign(entry.destination, resolver.resolve(entry));
  }
}

RouteWork compare(const WantedRoutes& wanted, const Held& held, const RouteClaims& claims) {
  RouteWork work;
  std::vector<drivers::RouteChange> removals;
  auto next_wanted = wanted.begin();
  auto add_until = [&](const IpPrefix* destination) {
    for (; next_wanted != wanted.end() &&
           (destination == nullptr || next_wanted->first < *destination);
         ++next_wanted) {
      if (next_wanted->second.route) {
        work.changes.push_back({Kind::add, *next_wanted->second.route});
      }
    }
  };
  for (auto first = held.begin(); first != held.end();) {
    const IpPrefix& destination = first->destination;
    const auto last = std::find_if(first, held.end(), [&](const drivers::HostRoute& one) {
      return one.destination != destination;
    });
    add_until(&destination);
    if (next_wanted != wanted.end() && next_wanted->first == destination) {
      compare_one(next_wanted->second, first, last, work);
      ++next_wanted;
    } else if (claims.cover(destination)) {
      for (auto one = first; one != last; ++one) removals.push_back({Kind::remove, *one});
    } else {
      work.orphans.emplace(destination, first->next_hop);
    }
    first = last;
  }
  add_until(nullptr);
  work.changes.insert(work.changes.end(), removals.begin(), removals.end());
  return work;
}

void RouteClaims::add(const RouteTableRecord& record, bool is_applied) {
  if (!is_applied) destinations.insert(record.dropped.begin(), record.dropped.end());
  if (!record.is_leaving()) return;
  const std::vector<IpPrefix>& cidrs = record.spec.cluster_cidrs;
  ranges.insert(ranges.end(), cidrs.begin(), cidrs.end());
}

bool RouteClaims::cover(const IpPrefix& destination) const {
  return destinations.contains(destination) || api::lies_in(ranges, destination);
}

// A route without a next hop can be named by nobody.
std::vector<api::OrphanRoute> orphans_of(const RouteTableRecord& record,
                                         const OrphanRoutes& orphans) {
  std::vector<api::OrphanRoute> told;
  for (const bool with_next_hop : {true, false}) {
    for (const auto& [destination, next_hop] : orphans) {
      if (told.size() >= api::kOrphanRoutesMax) break;
      const bool has_next_hop = next_hop != IpAddress{.family = next_hop.family};
      if (has_next_hop != with_next_hop) continue;
      if (!api::lies_in(record.spec.cluster_cidrs, destination)) continue;
      told.push_back({destination, has_next_hop ? std::optional(next_hop) : std::nullopt});
    }
  }
  std::ranges::sort(told, {}, &api::OrphanRoute::destination);
  return told;
}

}  // namespace isthmus::infra

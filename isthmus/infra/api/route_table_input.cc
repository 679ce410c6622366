#include "isthmus/infra/api/route_table_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "isthmus/infra/api/prefix_set.h"
#include "isthmus/infra/api/rules.h"

namespace isthmus::infra::api {
namespace {

// A value and where it was said.
template <class Value>
struct Said {
  Value value;
  JsonReader at;
};
using SaidPrefixes = std::vector<Said<IpPrefix>>;

std::optional<IpPrefix> routable_prefix(JsonReader value) {
  std::optional<IpPrefix> prefix = clean_prefix(value);
  if (!prefix) return std::nullopt;
  if (auto mistake = wrong_network(*prefix)) {
    value.refuse(*mistake);
    return std::nullopt;
  }
  return prefix;
}

// Prefixes are nested or apart, so in the order of their first addresses, wider ones first, one
// that lies in another before it lies in the last that lay in none.
void refuse_overlaps(SaidPrefixes cidrs) {
  std::ranges::sort(cidrs, {}, &Said<IpPrefix>::value);
  const Said<IpPrefix>* outer = nullptr;
  for (Said<IpPrefix>& cidr : cidrs) {
    if (outer != nullptr && outer->value.contains(cidr.value)) {
      cidr.at.refuse(fmt::format("overlaps {}", to_string(outer->value)));
    } else {
      outer = &cidr;
    }
  }
}

void read_cidrs(JsonReader list, RouteTableSpec& spec) {
  SaidPrefixes cidrs;
  for (JsonReader& element : at_least_one(list, kClusterCidrsMax)) {
    std::optional<IpPrefix> cidr = routable_prefix(element);
    if (!cidr) continue;
    spec.cluster_cidrs.push_back(*cidr);
    cidrs.push_back({*cidr, element});
  }
  refuse_overlaps(std::move(cidrs));
}

void check_destination(const RouteTableSpec& spec, const IpPrefix& destination, JsonReader at,
                       PrefixSet& destinations) {
  if (!destinations.insert(destination)) return at.refuse("is the destination of another route");
  // Without a CIDR that could be read its own mistake explains more.
  const bool is_inside = spec.cluster_cidrs.empty() ||
                         std::ranges::any_of(spec.cluster_cidrs, [&](const IpPrefix& cidr) {
                           return cidr.contains(destination);
                         });
  if (!is_inside) at.refuse("lies in none of the clusterCIDRs");
}

RouteEntry read_route(JsonReader object, const RouteTableSpec& spec, PrefixSet& destinations,
                      std::vector<Said<IpAddress>>& next_hops) {
  RouteEntry route;
  JsonReader place = object.required("destination");
  const std::optional<IpPrefix> destination = routable_prefix(place);
  if (destination) {
    check_destination(spec, *destination, place, destinations);
    route.destination = *destination;
  }
  std::optional<JsonReader> instance = object.optional("instance");
  if (instance) route.instance = ruled_text(*instance, wrong_uid);
  std::optional<JsonReader> next_hop = object.optional("nextHop");
  if (next_hop) route.next_hop = reachable_ip(*next_hop);
  if (!instance && !next_hop) object.refuse("needs an instance, a nextHop, or both");
  object.no_other_fields();
  if (!route.next_hop) return route;
  if (destination && route.next_hop->family != destination->address.family) {
    next_hop->refuse(fmt::format("expected an {} address as the destination is one",
                                 to_string(destination->address.family)));
  } else {
    next_hops.push_back({*route.next_hop, *next_hop});
  }
  return route;
}

void read_spec(JsonReader object, RouteTableSpec& spec) {
  read_cidrs(object.required("clusterCIDRs"), spec);
  std::vector<JsonReader> routes = object.required("routes").elements(kRoutesMax);
  PrefixSet destinations;
  std::vector<Said<IpAddress>> next_hops;
  spec.routes.reserve(routes.size());
  for (JsonReader& route : routes) {
    spec.routes.push_back(read_route(route, spec, destinations, next_hops));
  }
  for (Said<IpAddress>& next_hop : next_hops) {
    const std::vector<IpPrefix> around = destinations.around(next_hop.value);
    if (around.empty()) continue;
    next_hop.at.refuse(fmt::format("lies in {}, which is routed itself", to_string(around[0])));
  }
  object.no_other_fields();
}

}  // namespace

Input<RouteTable> decode_route_table_input(std::string_view text, std::string_view owner,
                                           std::string_view name) {
  return decode_input<RouteTable>("RouteTable", text, owner, name,
                                  [](JsonReader spec, Input<RouteTable>& input) {
                                    read_spec(std::move(spec), input.object.spec);
                                  });
}

}  // namespace isthmus::infra::api

// Pod CIDRs as people and allocators write them: parsed once, so that two spellings of one network
// are one network everywhere behind this.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"

namespace isthmus::controllers {

// One CIDR. Bits behind the prefix are dropped, as Kubernetes does: "10.244.1.7/24" is
// 10.244.1.0/24. invalid: no CIDR, or one of all addresses.
Result<IpPrefix> parse_pod_cidr(std::string_view text);

// --cluster-cidr: one, or two of different families with a comma between them. Empty: none. invalid
// names what is wrong, all of it.
Result<std::vector<IpPrefix>> parse_cluster_cidrs(std::string_view text);

// "10.244.0.0/16, fd00::/48"
std::string describe(const std::vector<IpPrefix>& prefixes);

bool overlap(const IpPrefix& one, const IpPrefix& other);

// Whether anything that stands in an ordered map under a prefix that overlaps this one is wanted;
// in as many steps as the prefix has bits, and one for each that it contains.
template <class Map, class IsWanted>
bool any_overlapping(const Map& map, const IpPrefix& prefix, IsWanted is_wanted) {
  for (std::uint8_t bits = 0; bits < prefix.bits; ++bits) {
    const auto around = map.find(prefix_around(prefix.address, bits));
    if (around != map.end() && is_wanted(around->second)) return true;
  }
  for (auto next = map.lower_bound(prefix); next != map.end(); ++next) {
    if (!prefix.contains(next->first)) break;
    if (is_wanted(next->second)) return true;
  }
  return false;
}

}  // namespace isthmus::controllers

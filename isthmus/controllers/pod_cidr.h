// Pod CIDRs as people and allocators write them: parsed once, so that two spellings of one network
// are one network everywhere behind this.
#pragma once

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

}  // namespace isthmus::controllers

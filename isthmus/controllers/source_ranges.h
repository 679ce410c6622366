// Who may use a load balancer: loadBalancerSourceRanges, and upstream's annotation in its place.
#pragma once

#include <string_view>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/controllers/service_complaints.h"
#include "isthmus/kube/api/service.h"

namespace isthmus::controllers {

// As upstream and kube-proxy read one (Go's ParseCIDRSloppy): leading zeros are tolerated and mean
// decimal, bits behind the prefix are cleared. Blanks around it do not count. invalid: anything
// else, an address without a prefix too.
Result<IpPrefix> parse_source_range(std::string_view text);

struct SourceRanges {
  std::vector<IpPrefix> allowed = {};  // In order, each once. Empty: everyone.
  std::vector<IpFamily> closed = {};   // Families of the load balancer of which nobody is let in.

  friend bool operator==(const SourceRanges&, const SourceRanges&) = default;
};

// For a load balancer with addresses of these families.
//
// A range lets in clients of its own family only. Where there are none at all, everyone is let in;
// where there are some, but none of a family that the load balancer has, nobody of that family is.
// (kube-proxy leaves such a family open; an allow list that allows what it does not name is no
// allow list.) Ranges of families that it does not have are left out: no packet could match them.
// 0.0.0.0/0 is everybody with an IPv4 address, ::/0 everybody with an IPv6 one.
//
// A complaint: a range that is none, more than the 500 a cloud takes, and ranges by which nobody at
// all could reach it.
SourceRanges source_ranges(const kube::Service& service, const std::vector<IpFamily>& families,
                           Complaints& complaints);

}  // namespace isthmus::controllers

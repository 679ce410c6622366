// Prefixes among which those are found that an address lies in, however many there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "isthmus/base/ip.h"

namespace isthmus::infra::api {

// The prefixes of a set have few lengths, and for each of them there is one that an address could
// lie in.
class PrefixSet {
 public:
  // False: it was there already.
  bool insert(const IpPrefix& prefix) {
    lengths_.insert({prefix.address.family, prefix.bits});
    return prefixes_.insert(prefix).second;
  }

  bool contains(const IpPrefix& prefix) const { return prefixes_.contains(prefix); }

  // All in which the address lies, the longest first.
  std::vector<IpPrefix> around(const IpAddress& address) const {
    std::vector<IpPrefix> found;
    for (auto length = lengths_.rbegin(); length != lengths_.rend(); ++length) {
      if (length->first != address.family) continue;
      const IpPrefix candidate = prefix_around(address, length->second);
      if (prefixes_.contains(candidate)) found.push_back(candidate);
    }
    return found;
  }

 private:
  std::set<std::pair<IpFamily, std::uint8_t>> lengths_;
  std::set<IpPrefix> prefixes_;
};

// Whether one of these, which are few, holds the address, or all of the prefix.
template <class Inner>
bool lies_in(const std::vector<IpPrefix>& prefixes, const Inner& inner) {
  return std::ranges::any_of(prefixes,
                             [&](const IpPrefix& around) { return around.contains(inner); });
}

}  // namespace isthmus::infra::api

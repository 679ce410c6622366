#include "isthmus/infra/unusable_addresses.h"

#include <fmt/format.h>

namespace isthmus::infra {

UnusableAddresses unusable_on(const std::vector<drivers::InterfaceAddress>& present) {
  UnusableAddresses unusable;
  for (const IpPrefix& network : drivers::links_of(present)) {
    const bool v4 = network.address.family == IpFamily::v4;
    // The last two prefix lengths have no address to spare.
    if (network.bits + 2u > network.address.size() * 8) continue;
    const std::string name = to_string(network);
    unusable[network.address] = v4 ? fmt::format("it is the network address of {}", name)
                                   : fmt::format("every router of {} answers for it", name);
    if (v4) unusable[network.last()] = fmt::format("it is the broadcast address of {}", name);
  }
  for (const drivers::InterfaceAddress& own : present) {
    if (own.ours) continue;
    unusable[own.address] = fmt::format("this host has it itself, on {}", own.interface);
  }
  return unusable;
}

}  // namespace isthmus::infra

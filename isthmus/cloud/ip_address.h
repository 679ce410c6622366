// IP addresses as Kubernetes reads them, so that a machine's addresses and a Node's compare.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/base/ip.h"

namespace isthmus::cloud {

// Reads an address without zone, mask or blanks; nullopt for everything else. An IPv4 address in
// IPv6 clothes (::ffff:10.0.0.1), which parse_ip refuses, is the IPv4 address here, as Go's net.IP
// and so Kubernetes has it.
std::optional<IpAddress> read_ip(std::string_view text);

// 0.0.0.0 or ::
bool is_unspecified(const IpAddress& address);

}  // namespace isthmus::cloud

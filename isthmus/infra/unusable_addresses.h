// Which addresses nobody can be given on a host, by what its interfaces have.
#pragma once

#include <vector>

#include "isthmus/infra/allocator.h"
#include "isthmus/infra/drivers/addresses.h"

namespace isthmus::infra {

// Those that are the host's own and not ours; of each IPv4 network it is connected to, the network
// and the broadcast address (RFC 919; a /31 has neither, RFC 3021); of each IPv6 network the
// address that every router of it answers for (RFC 4291 section 2.6.1; a /127 has none, RFC 6164).
UnusableAddresses unusable_on(const std::vector<drivers::InterfaceAddress>& present);

}  // namespace isthmus::infra

// What of the load balancers' troubles is this host's own, for readiness: whoever looks there sees
// why nothing arrives, without a look at each load balancer.
#pragma once

#include <optional>
#include <string>

#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// "3 load balancers are not served: ForwardingOff, run as root: …; 1: LinkDown, eth0 is down", with
// the reason that concerns most of them first; nothing where the host stands in nobody's way. One
// walk over all load balancers.
std::optional<std::string> host_trouble(const LedgerSnapshot& snapshot);

}  // namespace isthmus::infra

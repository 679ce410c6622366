// Addresses that somebody has who is no load balancer: machines and targets.
//
// Asking the link does not tell them all: a machine that is switched off answers nobody, and comes
// back to find its address in use.
#pragma once

#include <map>
#include <string>

#include "isthmus/base/ip.h"
#include "isthmus/infra/instance_record.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// Each with one of those who have it: "is the address of machine node2", "is a target of prod/web",
// "is in target set prod/nodes".
using AddressClaims = std::map<IpAddress, std::string>;

// Those from the first to the last address, which are of one family. A machine that is not in the
// inventory any more has its addresses until it is retired. `machines` nullptr: none is known.
//
// A walk over all machines, sets and load balancers, and over the targets of those that have some
// on both sides of what is asked for or within: of 1,000 with 100 targets a third of a millisecond.
AddressClaims claims_between(const IpAddress& first, const IpAddress& last,
                             const LedgerSnapshot& snapshot, const InstanceSnapshot* machines);

}  // namespace isthmus::infra

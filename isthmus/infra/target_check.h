// Addresses that cannot be targets, whoever asks for them; decided without IO.
//
// An owner of load balancers is not an administrator of the host: without these rules, what the
// host serves only its own network would be on a public address by one PUT, and flows sent to
// another load balancer would go round in the host.
#pragma once

#include <optional>

#include "isthmus/infra/allocator.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/api/target_set.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// invalid-spec (422), with every target at its pointer: one in the ranges of a pool or held by a
// load balancer, and one that is unusable on this host where it is this host that forwards.
// Targets of the sets a load balancer refers to are looked at when the set is put.
std::optional<api::Problem> target_failure(const LedgerSnapshot& snapshot,
                                           const api::LoadBalancer& said,
                                           const Circumstances& circumstances);
std::optional<api::Problem> target_failure(const LedgerSnapshot& snapshot,
                                           const api::TargetSet& said,
                                           const Circumstances& circumstances);

}  // namespace isthmus::infra

// Records of the ledger as the API shows them: plain functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/infra/api/dry_run.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/infra/api/route_table.h"
#include "isthmus/infra/api/target_set.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// The load balancer with its status, without the health of single targets. Its revision is that of
// the last change of either; its addresses are what it holds in the store, whoever reported last.
// While nobody has reported on it yet, it is accepted, its address is allocated (both were done
// with the write, at `now` or a moment before) and the rest is unknown. A tombstone has no status
// any more.
api::LoadBalancer shown(const LedgerSnapshot& snapshot, const BalancerRecord& record, WallTime now);

// What a dry run answers of a plan for the object, which is given as it would stand, as JSON.
template <class Plan>
api::DryRun dry_run_of(const Plan& plan, bool removal, std::string object) {
  using Effect = api::DryRun::Effect;
  api::DryRun dry;
  dry.effect = removal        ? Effect::deleted
               : plan.created ? Effect::created
               : plan.write   ? Effect::changed
                              : Effect::unchanged;
  dry.object = std::move(object);
  dry.changes = plan.changes;
  return dry;
}

// Those conditions, of a load balancer.
std::vector<api::Condition> conditions_at_first(const BalancerRecord& record, WallTime now);

// The target set with the number of load balancers that refer to it.
api::TargetSet shown(const LedgerSnapshot& snapshot, const TargetSetRecord& record);

// The same number for all sets of an owner, in one pass; those without a user are not in it.
std::map<std::string, std::uint64_t> users_by_set(const LedgerSnapshot& snapshot,
                                                  const std::string& owner);

// The route table with the state of each of its routes. Until the host has looked at the generation
// that stands, all of them are pending: nobody knows which of them are new. A tombstone has none.
api::RouteTable shown(const LedgerSnapshot& snapshot, const RouteTableRecord& record, WallTime now);

}  // namespace isthmus::infra

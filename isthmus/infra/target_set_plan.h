// What a PUT or a DELETE does to a target set, decided without IO, by the rules of balancer_plan.h;
// and one that is used is not deleted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/infra/allocator.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/field_changes.h"
#include "isthmus/infra/ledger_records.h"
#include "isthmus/infra/preconditions.h"

namespace isthmus::infra {

// Of one owner. A set of 100 targets takes 20 KB in memory, so these are 20 MB; load balancers are
// meant to share them.
inline constexpr std::size_t kTargetSetsPerOwnerMax = 1000;

// The decision about one target set: a problem, or the record that stands afterwards.
struct TargetSetPlan {
  std::optional<api::Problem> problem;
  TargetSetRecord record;                   // Without a problem only.
  std::vector<api::PlannedChange> changes;  // By pointer; of a dry run only.
  std::uint64_t generation_before = 0;      // 0: it did not stand.
  bool created = false;
  bool write = false;  // False: it stands already as it should.
};

// `uid` is the one it gets if it is new or revived. The order of targets means nothing. Problems:
// revision-conflict, quota-exceeded, those of target_check.h.
TargetSetPlan plan_put(const LedgerSnapshot& snapshot, const api::TargetSet& said,
                       const Preconditions& preconditions, const Circumstances& circumstances,
                       const std::string& uid);

// Problems: target-set-not-found (404), target-set-in-use (409) naming the users,
// deletion-protected (409), revision-conflict.
TargetSetPlan plan_delete_target_set(const LedgerSnapshot& snapshot, const ObjectName& name,
                                     const Preconditions& preconditions, WallTime now);

// What the plan would change, as the API shows it. `before` is what stands, nullptr where nothing
// does.
std::vector<api::PlannedChange> changes_of(const TargetSetRecord* before,
                                           const TargetSetRecord& after);

}  // namespace isthmus::infra

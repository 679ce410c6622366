// What a PUT or a DELETE does to a load balancer, decided without IO: plain functions from what
// stands and what was said to what is to be written.
//
// The rules they keep: a spec that is equal after defaulting changes nothing, not even the
// generation; what belongs to somebody else is not there; a name that is put again while it leaves,
// or after, has its old addresses back while they cool down; an orphan (allocator.h) is adopted by
// a PUT of its name, with its addresses and above its generation, also where the store knows an
// older load balancer of the name.
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

// Of one owner, leaving ones too. A load balancer of 100 inline targets takes 8 KB in memory with
// its status and address, so these are 40 MB.
inline constexpr std::size_t kBalancersPerOwnerMax = 5000;

// The decision about one load balancer: a problem, or the record that stands afterwards.
struct BalancerPlan {
  std::optional<api::Problem> problem;
  BalancerRecord record;                    // Without a problem only.
  std::vector<AddressRecord> addresses;     // To be written with it.
  std::vector<api::PlannedChange> changes;  // By pointer; of a dry run only.
  std::uint64_t generation_before = 0;      // 0: it did not stand.
  bool created = false;
  bool write = false;      // False: it stands already as it should.
  bool abandoned = false;  // An orphan was given up, of that generation; the problem says so.
};

// `uid` is the one it gets if it is new or revived. `kernel_generation` is the highest that the
// kernel was seen to hold under the name, 0 for none.
//
// Problems: revision-conflict; quota-exceeded; invalid-spec for a target set that is not there,
// each at its pointer; those of target_check.h and of allocate().
BalancerPlan plan_put(const LedgerSnapshot& snapshot, const api::LoadBalancer& said,
                      const Preconditions& preconditions, const Circumstances& circumstances,
                      const std::string& uid, std::uint64_t kernel_generation);

// The generation rises to the kernel's, so that what the kernel holds is older than the deletion.
// Problems: load-balancer-not-found (404), deletion-protected (409), revision-conflict.
BalancerPlan plan_delete(const LedgerSnapshot& snapshot, const ObjectName& name,
                         const Preconditions& preconditions, WallTime now,
                         std::uint64_t kernel_generation);

// What the plan would change, as the API shows it. `before` is what stands, nullptr where nothing
// does.
std::vector<api::PlannedChange> changes_of(const BalancerRecord* before,
                                           const BalancerRecord& after);

}  // namespace isthmus::infra

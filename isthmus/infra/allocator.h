// Which addresses a load balancer gets: a plain function from what everybody holds to what this one
// will hold, or the reason why not. The ledger (ledger.h) commits the answer as one transaction on
// the condition that nothing has changed since, so that no address is ever held twice.
//
// The rules: an address that is held never changes by itself. One that is released cools down, and
// only its last holder gets it back meanwhile. Asked-for addresses are honoured or refused, never
// replaced. Within a pool the lowest free address is taken, after those that nobody held before.
// Addresses that the kernel holds for a load balancer no store knows are nobody's to give.
#pragma once

#include <expected>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/ip.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// A load balancer that the kernel holds and the store does not know, for example because an old
// copy of the store was restored. It keeps serving until its owner puts it again, and then has its
// addresses, or until an administrator removes it.
struct Orphan {
  std::uint64_t generation = 0;  // As the kernel holds it.
  std::vector<IpAddress> addresses;

  friend bool operator==(const Orphan&, const Orphan&) = default;
};

using Orphans = std::map<ObjectName, Orphan>;

// What decisions depend on besides the ledger itself.
struct Circumstances {
  WallTime now;
  std::string host;  // The name of this host, which will answer for what is allocated.
  const Orphans& orphans;
  // Pools this owner may use; nullptr: all of them.
  const std::set<std::string, std::less<>>* pools_allowed = nullptr;
};

// The addresses of a load balancer after the change, and the address records that must be written
// with it: those it gets, keeps with another sharing key, and lets go (which cool down).
struct Allocation {
  std::vector<IpAddress> addresses;  // In the order of the families, or as asked for.
  std::vector<AddressRecord> writes;

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

// For the load balancer of that name with that spec, whose present addresses are those of its
// record. Problems: pool-exhausted, address-in-use and address-not-in-pool (409), each naming who
// holds what and what would help; invalid-spec (422) for a pool that is not there or not this
// owner's, with the pointer.
std::expected<Allocation, api::Problem> allocate(const LedgerSnapshot& snapshot,
                                                 const ObjectName& name,
                                                 const api::LoadBalancerSpec& spec,
                                                 const Circumstances& circumstances);

// The address records to write so that the load balancer holds none: they cool down from now on.
std::vector<AddressRecord> release(const LedgerSnapshot& snapshot, const ObjectName& name,
                                   const Circumstances& circumstances);

// How much of a pool is used, one per family of its ranges.
std::vector<api::PoolUse> use_of(const LedgerSnapshot& snapshot, const api::Pool& pool,
                                 const Circumstances& circumstances);

// The address as the API shows it.
api::AllocatedAddress shown(const AddressRecord& record, WallTime now);

}  // namespace isthmus::infra

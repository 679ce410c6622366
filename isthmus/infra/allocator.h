// Which addresses a load balancer gets: a plain function from what everybody holds to what this one
// will hold, or the reason why not. The ledger (ledger.h) commits the answer as one transaction on
// the condition that nothing has changed since, so that no address is ever held twice.
//
// The rules:
// - An address that is held never changes by itself: not because the pool was closed to the owner
//   or takes no part in automatic assignment any more, only because the spec asks for something
//   else.
// - What is released cools down for as long as its pool says, and only its last holder gets it back
//   meanwhile, by itself or asked for.
// - Addresses that are asked for are honoured or refused, all of them, never replaced. Without any,
//   each family gets one, or none does: what it held a moment ago; else the first it prefers that
//   it would get if it asked for it; else one it may share; else, pool by pool in the order of
//   their names, the lowest that nobody held before, and when there is none the one that was free
//   for longest.
// - Load balancers of one owner with an equal sharing key share an address as long as no protocol
//   and port is served twice on it.
// - What the kernel holds for a load balancer that no store knows (an orphan) is nobody's to give,
//   except to that very name.
// - What a machine or a target has (address_claims.h) is given to nobody, even while it is silent.
//   Who held it before that was known keeps it.
//
// A range is a set of single addresses, so the first and the last of an IPv4 range are given like
// all others: a range that is routed to this host has no network or broadcast address. Where a
// range lies in a network that the host is connected to, that network's own two addresses are
// `unusable`. An IPv6 address whose last 64 bits are 0 is only given to who asks for it: every
// router of that /64 answers for it as well (RFC 4291 section 2.6.1).
//
// A call looks once at every record of the owner's pools, where it needs another address also at
// every machine and target, and at no address without one of these, so a range may be as large as
// IPv6 allows. The epoch of an address rises whenever its holders or the host change; where no
// record of it is left it begins above the store's revision, because an epoch never starts over.
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

struct InstanceSnapshot;

// A load balancer that the kernel holds and the store does not know, for example because an old
// copy of the store was restored. It keeps serving until its owner puts it again, and then has its
// addresses, or until an administrator removes it.
struct Orphan {
  std::uint64_t generation = 0;  // As the kernel holds it.
  std::vector<IpAddress> addresses;

  friend bool operator==(const Orphan&, const Orphan&) = default;
};

using Orphans = std::map<ObjectName, Orphan>;

// Addresses that nobody can have on this host, and why: "the host has it itself", "it is the
// broadcast address of 192.0.2.0/24".
using UnusableAddresses = std::map<IpAddress, std::string>;

// Addresses that somebody would like to have, best first: a hint, no part of what is kept.
using Preferred = std::vector<IpAddress>;

// What decisions depend on besides the ledger itself.
struct Circumstances {
  WallTime now;
  std::string host;  // The name of this host, which will answer for what is allocated.
  const Orphans& orphans;
  // Pools this owner may use; nullptr: all of them.
  const std::set<std::string, std::less<>>* pools_allowed = nullptr;
  const UnusableAddresses* unusable = nullptr;  // nullptr: none is known.
  // Whether it is this host that sends flows on to targets, so that none may be unusable.
  bool forwards = true;
  const InstanceSnapshot* machines = nullptr;  // nullptr: none is known.
  const Preferred* preferred = nullptr;        // nullptr: none. Of the one that is decided about.
};

// The addresses of a load balancer after the change, and the address records that must be written
// with it: those it gets, keeps with another sharing key or host, and lets go (which cool down).
// Their revision is what it was.
struct Allocation {
  std::vector<IpAddress> addresses;  // In the order of the families, or as asked for.
  std::vector<AddressRecord> writes;

  friend bool operator==(const Allocation&, const Allocation&) = default;
};

// For the load balancer of that name with that spec, whose present addresses are those of its
// record or, for an orphan, of the kernel. Problems: pool-exhausted, address-in-use and
// address-not-in-pool (409), each naming who holds what and what would help, with the seconds until
// the next address that cools down is free; invalid-spec (422) for a pool that is not there or not
// this owner's, with the pointer.
std::expected<Allocation, api::Problem> allocate(const LedgerSnapshot& snapshot,
                                                 const ObjectName& name,
                                                 const api::LoadBalancerSpec& spec,
                                                 const Circumstances& circumstances);

// The address records to write so that the load balancer holds none: they cool down from now on.
std::vector<AddressRecord> release(const LedgerSnapshot& snapshot, const ObjectName& name,
                                   const Circumstances& circumstances);

// How much of a pool is used, one per family of its ranges. Addresses of orphans are held, unusable
// ones are no part of it, and what machines or targets have is not free.
std::vector<api::PoolUse> use_of(const LedgerSnapshot& snapshot, const api::Pool& pool,
                                 const Circumstances& circumstances);

// The address as the API shows it. While it cools down its holder is the one that may have it back.
// One that has cooled down has no `free_at`: it is free, and not for showing.
api::AllocatedAddress shown(const AddressRecord& record, WallTime now);

}  // namespace isthmus::infra

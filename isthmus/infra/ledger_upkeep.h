// What is written to the ledger besides PUT and DELETE, decided without IO: the end of load
// balancers that leave, what has lost its meaning, and the pools of the configuration.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "isthmus/base/mistakes.h"
#include "isthmus/infra/allocator.h"
#include "isthmus/infra/ledger_records.h"

namespace isthmus::infra {

// How long a tombstone tells that something was deleted. Whoever watches is told by the history of
// the store, which is shorter; this is for people who look.
inline constexpr Duration kTombstoneAge = std::chrono::hours(24);

// Older ones go before their time: without their targets they have 2 KB, so these are 20 MB.
inline constexpr std::size_t kTombstonesMax = 10'000;

// How long the record of an address stays after it said that the address is free, so that whoever
// watches is told.
inline constexpr Duration kFreeAge = std::chrono::minutes(1);

// How often what has lost its meaning is looked for: tombstones can wait so long, and a cool-down
// that has ended is told within the shorter time.
inline constexpr Duration kForgetPeriod = std::chrono::minutes(1);
inline constexpr Duration kForgetPauseMin = std::chrono::seconds(1);

// Those of the names that are leaving become tombstones, which keep no targets, their addresses are
// released and their statuses go. Each key is written once.
std::vector<Write> plan_finalize(const LedgerSnapshot& snapshot, std::span<const ObjectName> names,
                                 const Circumstances& circumstances);

// What has lost its meaning. Deleted are tombstones that are too old or too many, statuses without
// a load balancer or route table, and addresses that have cooled down; these have nobody who may
// have them back for a while before. An address that would cool down for longer than its pool says,
// because the clock went back or the pool was changed, cools down for so long from now on.
std::vector<Write> plan_forget(const LedgerSnapshot& snapshot, WallTime now);

// How long nothing more loses its meaning that somebody who watches waits for: until the next
// address has cooled down, and no longer than the shortest cool-down, which may begin at any
// moment. At most kForgetPeriod, at least kForgetPauseMin.
Duration until_forgetting(const LedgerSnapshot& snapshot, WallTime now);

// The records to write so that the pools are as said. Mistakes, with which nothing of the answer
// may be used: a name twice, ranges that overlap, and a pool or range that would go while it still
// holds addresses.
std::vector<PoolRecord> plan_pools(const LedgerSnapshot& snapshot,
                                   const std::vector<api::Pool>& pools, Mistakes& mistakes);

}  // namespace isthmus::infra

// What a PUT or a DELETE does to a route table, decided without IO, by the rules of
// balancer_plan.h: a table whose deletion is requested stands until the kernel has no route of it.
//
// A route in the kernel says no more than that it is this program's. So that nothing is taken away
// that only a newer store or a lost one knew, a table takes away what it has named itself and no
// longer does, and nothing else. Its record keeps the destinations that it dropped; they count
// until the host has followed, and never after, not even where the table leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isthmus/infra/api/dry_run.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/ledger_records.h"
#include "isthmus/infra/preconditions.h"

namespace isthmus::infra {

// Of one owner, which is a cluster and needs one; more are for moving from one to the next. With
// 5,000 routes each takes 1 MB in memory.
inline constexpr std::size_t kRouteTablesPerOwnerMax = 8;

// Kept of what was dropped: a whole table. What is more, while the host does not follow, is
// forgotten, and its routes are orphans.
inline constexpr std::size_t kDroppedRoutesMax = api::kRoutesMax;

// What decisions about route tables depend on besides the ledger itself.
struct RouteCircumstances {
  WallTime now;
  const std::vector<IpPrefix>* destinations = nullptr;  // The owner may route; nullptr: nothing.
  bool forwards = true;  // Whether it is this host that forwards packets.
};

// The decision about one table: a problem, or the record that stands afterwards.
struct RouteTablePlan {
  std::optional<api::Problem> problem;
  RouteTableRecord record;                  // Without a problem only.
  std::vector<api::PlannedChange> changes;  // By pointer; of a dry run only.
  std::uint64_t generation_before = 0;      // 0: it did not stand.
  bool created = false;
  bool write = false;  // False: it stands already as it should.
};

// `uid` is the one it gets if it is new or revived. The order of CIDRs and routes means nothing.
// Problems: revision-conflict; quota-exceeded; not-offered where others forward; routes-not-allowed
// and cluster-cidr-in-use with every CIDR at its pointer.
RouteTablePlan plan_put(const LedgerSnapshot& snapshot, const api::RouteTable& said,
                        const Preconditions& preconditions, const RouteCircumstances& circumstances,
                        const std::string& uid);

// Problems: route-table-not-found (404), deletion-protected (409), revision-conflict.
RouteTablePlan plan_delete_route_table(const LedgerSnapshot& snapshot, const ObjectName& name,
                                       const Preconditions& preconditions, WallTime now);

// Those of the names that are leaving become tombstones, without routes, and their statuses go.
std::vector<Write> plan_finalize_route_tables(const LedgerSnapshot& snapshot,
                                              std::span<const ObjectName> names, WallTime now);

// Whether everything of this generation was done that could be (api::RouteTableStatus).
bool is_applied(const LedgerSnapshot& snapshot, const RouteTableRecord& record);

// What the plan would change, as the API shows it. `before` is what stands, nullptr where nothing
// does.
std::vector<api::PlannedChange> changes_of(const RouteTableRecord* before,
                                           const RouteTableRecord& after);

}  // namespace isthmus::infra

// What a PUT or a DELETE does to a route table, decided without IO, by the rules of
// balancer_plan.h: a table whose deletion is requested stands until the kernel has no route of it.
//
// Which of the kernel's routes are a table's follows from its cluster CIDRs alone, because no two
// tables have a common one, and a route in the kernel says no more than that it is this program's.
// So that nothing is taken away that only a newer store knew, a table claims what it does not know
// only while it is being applied: a PUT of its owner, who says all of it, is what begins that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
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

// Kept of the cluster CIDRs of earlier generations: four changes of all of them. What is more is
// forgotten, and whatever routes are left there are orphans.
inline constexpr std::size_t kFormerCidrsMax = 64;

// Routes of ours in the kernel that no table knows.
using OrphanRoutes = std::set<IpPrefix>;

// What decisions about route tables depend on besides the ledger itself.
struct RouteCircumstances {
  WallTime now;
  const std::vector<IpPrefix>* destinations = nullptr;  // The owner may route; nullptr: nothing.
  const OrphanRoutes& orphans;
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
// One that stands already is written all the same, with a higher generation, where there are
// orphans in its cluster CIDRs: from then on those are its own, kept where it names them and taken
// away where it does not. Problems: revision-conflict; quota-exceeded; not-offered where others
// forward; routes-not-allowed and cluster-cidr-in-use with every CIDR at its pointer.
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

// What should be: load balancers, target sets, pools, addresses and route tables, in the store,
// read through a memory of it and changed by plans.
//
// As with the machines (instances.h), a change is planned from a snapshot and committed on the
// condition that nothing has changed since; where something has, it is planned again. A change of a
// load balancer and of the addresses it holds is one commit. What is cut off halfway, by a crash or
// a cancelled scope, was committed whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/allocator.h"
#include "isthmus/infra/balancer_plan.h"
#include "isthmus/infra/guarded_writer.h"
#include "isthmus/infra/ledger_memory.h"
#include "isthmus/infra/ledger_records.h"
#include "isthmus/infra/route_table_plan.h"
#include "isthmus/infra/store/store.h"
#include "isthmus/infra/target_set_plan.h"

namespace isthmus::infra {

// Written at once, so that a commit stays below the 1.5 MiB that a replicated store takes, and
// nobody waits long for it: 128 statuses of 2 KB.
inline constexpr std::size_t kStatusesPerCommit = 128;

// Likewise: each is up to eight addresses, a record and a status, and 128 operations are what a
// replicated store takes at once.
inline constexpr std::size_t kFinalizedPerCommit = 12;
inline constexpr std::size_t kForgottenPerCommit = 100;

// Errors of every call: those of the store (store.h); busy where others change things all the time;
// lost for a damaged record, or one of a newer version of this program, naming its key. What is
// given to the constructor outlives it.
class Ledger {
 public:
  using Snapshot = LedgerMemory::Snapshot;
  using Pools = std::set<std::string, std::less<>>;

  // `host` is the name of this host, empty where it holds no load balancers.
  Ledger(Store& store, const Clock& clock, Random& random, std::string host);

  // See ledger_memory.h.
  Task<Result<Snapshot>> latest();
  Task<Result<Snapshot>> at(std::optional<Revision> revision);
  const LedgerSnapshot* remembered() const { return memory_.remembered(); }

  // The plan that was carried out, or whose problem says why not; after a write its records carry
  // the new revision. With `dry_run` the plan is only made, and says what it would change.
  // `pools_allowed` are those of the owner, nullptr for all, and outlive the call; `preferred` is a
  // hint (allocator.h).
  //
  // `destinations` are what the owner may route, nullptr for nothing, and outlive the call.
  //
  // Beyond the problems of the plans (balancer_plan.h, target_set_plan.h, route_table_plan.h):
  // invalid-spec for what is too large for the store. Of load balancers and route tables also busy,
  // until found_in_kernel() was called.
  Task<Result<BalancerPlan>> put(api::LoadBalancer said, Preconditions preconditions,
                                 const Pools* pools_allowed, bool dry_run,
                                 Preferred preferred = {});
  // An orphan that has no record is abandoned, which the problem `unavailable` says, until the
  // kernel has none of it any more: load-balancer-not-found.
  Task<Result<BalancerPlan>> remove(ObjectName name, Preconditions preconditions, bool dry_run);
  Task<Result<TargetSetPlan>> put(api::TargetSet said, Preconditions preconditions, bool dry_run);
  Task<Result<TargetSetPlan>> remove_target_set(ObjectName name, Preconditions preconditions,
                                                bool dry_run);
  Task<Result<RouteTablePlan>> put(api::RouteTable said, Preconditions preconditions,
                                   const std::vector<IpPrefix>* destinations, bool dry_run);
  Task<Result<RouteTablePlan>> remove_route_table(ObjectName name, Preconditions preconditions,
                                                  bool dry_run);

  // Makes the pools as the configuration says, in one commit, and answers the names of those that
  // changed. invalid, with every reason: overlaps, and a range that still holds addresses would go.
  Task<Result<std::vector<std::string>>> load_pools(std::vector<api::Pool> pools);

  // The host holds nothing of these any more, whose deletion was requested: they become tombstones
  // and their addresses cool down. One that was put again meanwhile stays.
  Task<Result<>> finalize(std::vector<ObjectName> names);

  // Likewise of route tables.
  Task<Result<>> finalize_route_tables(std::vector<ObjectName> names);

  // What the reconciler found; statuses that stand already, and of load balancers that do not
  // stand, are not written.
  struct FoundStatus {
    ObjectName name;
    api::LoadBalancerStatus status;
  };
  Task<Result<>> report(std::vector<FoundStatus> statuses);

  // Likewise of a route table.
  Task<Result<>> report(ObjectName name, api::RouteTableStatus status);

  // Forgets what has lost its meaning: addresses that have cooled down, old tombstones, statuses of
  // tombstones (ledger_upkeep.h).
  Task<Result<>> forget();

  // What the kernel holds and the store does not know, or knows only an older generation of; it
  // replaces what was said before. Until it is said, no load balancer is changed: at start the host
  // is looked at first. Says also, for load balancers that the store knows, the highest generation
  // the kernel was seen to hold.
  void found_in_kernel(Orphans orphans, std::map<ObjectName, std::uint64_t> generations);
  const Orphans& orphans() const { return orphans_; }

  // An administrator, or its owner by remove(), gives up an orphan; the reconciler removes it.
  // absent: there is none.
  Result<> abandon(const ObjectName& name);
  const std::set<ObjectName>& abandoned() const { return abandoned_; }

  // Addresses that nobody can have on this host; replaces what was said before.
  void set_unusable(UnusableAddresses unusable) { unusable_ = std::move(unusable); }

  // Flows are sent on to targets by somebody else here (the driver announce), so that these may be
  // addresses of this host.
  void leave_targets_to_others() { forwards_ = false; }

  // How the machines are known whose addresses no load balancer gets; until it is said, none is.
  void set_machines(std::function<const InstanceSnapshot*()> machines) {
    machines_ = std::move(machines);
  }

  // What decisions depend on at this moment. Good until the next await.
  Circumstances circumstances(const Pools* pools_allowed = nullptr) const;

  // Set whenever what should be was changed here (statuses are not), or an orphan was abandoned;
  // the reconciler clears it.
  Signal& changed() { return changed_; }

  // Why the store did not take the last write, see guarded_writer.h.
  const std::optional<std::string>& write_trouble() const { return writer_.trouble(); }

 private:
  Result<> check_kernel_was_seen() const;
  BalancerPlan remove_orphan(const ObjectName& name, const Preconditions& preconditions,
                             bool dry_run);
  template <class Plan>
  Task<Result<Plan>> decide(std::function<Plan(const LedgerSnapshot&)> planner, bool dry_run);
  Task<Result<>> change(std::function<std::vector<Write>(const LedgerSnapshot&)> planner);
  Task<Result<>> report_some(std::vector<FoundStatus> statuses);
  std::uint64_t kernel_generation(const ObjectName& name) const;

  const Clock& clock_;
  Random& random_;
  const std::string host_;
  LedgerMemory memory_;
  GuardedWriter writer_;
  bool kernel_was_seen_;
  Orphans orphans_;
  std::set<ObjectName> abandoned_;
  std::map<ObjectName, std::uint64_t> kernel_generations_;
  UnusableAddresses unusable_;
  bool forwards_ = true;
  std::function<const InstanceSnapshot*()> machines_;
  Signal changed_;
};

}  // namespace isthmus::infra

// What should be: load balancers, target sets, pools and addresses, in the store, read through a
// memory of it and changed by plans.
//
// As with the machines (instances.h), a change is planned from a snapshot and committed on the
// condition that nothing has changed since; where something has, it is planned again. A change of a
// load balancer and of the addresses it holds is one commit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/allocator.h"
#include "isthmus/infra/balancer_plan.h"
#include "isthmus/infra/ledger_records.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// Errors of every call: those of the store (store.h). What is given to the constructor outlives it.
class Ledger {
 public:
  using Snapshot = std::shared_ptr<const LedgerSnapshot>;

  // `host` is the name of this host, empty where it holds no load balancers.
  Ledger(Store& store, const Clock& clock, Random& random, std::string host);

  // Everything as it stands now; equal revisions are the same snapshot.
  Task<Result<Snapshot>> latest();

  // As it stood at that revision. kRevisionGone when the history does not reach there.
  Task<Result<Snapshot>> at(Revision revision);

  // What latest() last answered, without a look at the store; nullptr before the first time.
  const LedgerSnapshot* remembered() const { return latest_.get(); }

  // The plan that was carried out, or whose problem says why not; after a write its record carries
  // the new revision. With `dry_run` the plan is only made. busy: others change things all the
  // time. `pools_allowed` are those of the owner, and outlive the call.
  using Pools = std::set<std::string, std::less<>>;
  Task<Result<BalancerPlan>> put(api::LoadBalancer said, Preconditions preconditions,
                                 const Pools* pools_allowed, bool dry_run);
  Task<Result<BalancerPlan>> remove(ObjectName name, Preconditions preconditions, bool dry_run);
  Task<Result<TargetSetPlan>> put(api::TargetSet said, Preconditions preconditions, bool dry_run);
  Task<Result<TargetSetPlan>> remove_target_set(ObjectName name, Preconditions preconditions,
                                                bool dry_run);

  // Makes the pools as the configuration says, in one commit, and answers the names of those that
  // changed. invalid, with every reason: a range that still holds addresses would go.
  Task<Result<std::vector<std::string>>> load_pools(std::vector<api::Pool> pools);

  // The host holds nothing of these any more, whose deletion was requested: they become tombstones
  // and their addresses cool down. One that was put again meanwhile stays.
  Task<Result<>> finalize(std::vector<ObjectName> names);

  // What the reconciler found; statuses that stand already are not written. One commit for up to
  // kStatusesPerCommit of them.
  struct FoundStatus {
    ObjectName name;
    api::LoadBalancerStatus status;
  };
  Task<Result<>> report(std::vector<FoundStatus> statuses);

  // Forgets what has lost its meaning: addresses that have cooled down, tombstones older than
  // kTombstoneAge, statuses of tombstones.
  Task<Result<>> forget();

  // What the kernel holds and the store does not know. Until it is said, nothing is allocated and
  // changes answer busy: at start the host is looked at first. Says also, for load balancers that
  // the store knows, the highest generation the kernel was seen to hold.
  void found_in_kernel(Orphans orphans, std::map<ObjectName, std::uint64_t> generations);
  const Orphans& orphans() const { return orphans_; }

  // An administrator gives up an orphan; the reconciler removes it. absent: there is none.
  Result<> abandon(const ObjectName& name);
  const std::set<ObjectName>& abandoned() const { return abandoned_; }

  // Set whenever something was committed here, or an orphan abandoned; the reconciler clears it.
  Signal& changed() { return changed_; }

 private:
  Store& store_;
  const Clock& clock_;
  Random& random_;
  const std::string host_;
  Snapshot latest_;
  bool kernel_was_seen_ = false;
  Orphans orphans_;
  std::set<ObjectName> abandoned_;
  std::map<ObjectName, std::uint64_t> kernel_generations_;
  Signal changed_;
};

}  // namespace isthmus::infra

// The machines: what stands in the store, read through a memory of it, and changed by plans.
//
// A change is planned from a snapshot and committed on the condition that nothing has changed
// since; where something has, it is planned again. So two writers never undo each other unseen.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/guarded_writer.h"
#include "isthmus/infra/instance_plan.h"
#include "isthmus/infra/instance_record.h"
#include "isthmus/infra/store/store.h"

namespace isthmus::infra {

// Errors of every call: those of the store (store.h). The store and the clock outlive this.
class Instances {
 public:
  using Snapshot = std::shared_ptr<const InstanceSnapshot>;

  Instances(Store& store, const Clock& clock)
      : store_(store), clock_(clock), writer_(store, clock, kInstancesLock) {}

  // All machines as they stand now; equal revisions are the same snapshot.
  Task<Result<Snapshot>> latest();

  // What latest() last answered or was last written here, without a look at the store; nullptr
  // before the first time.
  const InstanceSnapshot* remembered() const { return latest_.get(); }

  // As they stood at that revision; nullopt: as they stand now. kRevisionGone when the history does
  // not reach there.
  Task<Result<Snapshot>> at(std::optional<Revision> revision);

  // The plan that was carried out, or whose problem says why not; after a write its record carries
  // the new revision. busy: others change the machines all the time.
  Task<Result<InstancePlan>> put(api::Instance said, Preconditions preconditions);
  Task<Result<InstancePlan>> retire(std::string uid, Preconditions preconditions);

  // What loading the file changed: uids, each in one of the lists.
  struct Loaded {
    std::vector<std::string> changed;  // New, or described differently.
    std::vector<std::string> unknown;  // Their lines vanished.
    std::vector<std::string> retired;
  };

  // Makes the machines as the file says, in one commit. With mistakes nothing is written, and the
  // answer is empty. `mistakes` outlives the call.
  Task<Result<Loaded>> load(std::vector<InventoryLine> lines, YamlMistakes& mistakes);

  // Why the store did not take the last write, see guarded_writer.h.
  const std::optional<std::string>& write_trouble() const { return writer_.trouble(); }

  // What everybody is shown of a record: while its line stands in the file, the machine was
  // confirmed when the file was last loaded.
  api::Instance shown(const InstanceRecord& record) const;

 private:
  using Planner = std::function<InstancePlan(const InstanceSnapshot&, WallTime)>;

  Task<Result<Snapshot>> read_all(std::optional<Revision> revision);
  Task<Result<Revision>> lock_at(Revision revision);
  Task<Result<InstancePlan>> decide(Planner planner);
  Task<Result<Revision>> write(Revision lock, std::vector<InstanceRecord> records);

  Store& store_;
  const Clock& clock_;
  Snapshot latest_;
  WallTime file_loaded_at_;
  GuardedWriter writer_;
};

}  // namespace isthmus::infra

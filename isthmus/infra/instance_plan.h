// What a PUT, a DELETE or a loaded inventory file does to the machines, decided without IO: plain
// functions from what stands and what was said to what is to be written.
//
// The rules they keep: a machine is gone only because somebody said so; a retired uid stays
// retired; a machine that the inventory file names is changed there and nowhere else; and no two
// machines that are present have the same name, systemUUID or IP address.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isthmus/base/clock.h"
#include "isthmus/infra/api/instance.h"
#include "isthmus/infra/api/problem.h"
#include "isthmus/infra/instance_record.h"
#include "isthmus/infra/inventory.h"
#include "isthmus/infra/preconditions.h"

namespace isthmus::infra {

// The decision about one machine: a problem, or the record that stands afterwards.
struct InstancePlan {
  std::optional<api::Problem> problem;
  InstanceRecord record;  // Without a problem only. Its revision is the old one when it is written.
  bool created = false;
  bool write = false;  // False: it stands already as it should.
};

// `said` is what decode_instance_input read. A uid that is new, or whose line vanished from the
// file, is taken over.
InstancePlan plan_put(const InstanceSnapshot& snapshot, const api::Instance& said,
                      const Preconditions& preconditions, WallTime now);

InstancePlan plan_delete(const InstanceSnapshot& snapshot, const std::string& uid,
                         const Preconditions& preconditions, WallTime now);

// The records that must be written so that the machines are as the file says; those that the file
// named before and names no longer become unknown, last confirmed at `vouched_until` (when the file
// was last loaded; zero where this process has not loaded it yet). What contradicts the machines
// there are (a retired uid, a name of a machine that was put through the API) is a mistake of its
// line; with a mistake, nothing of the answer may be used.
std::vector<InstanceRecord> plan_inventory(const InstanceSnapshot& snapshot,
                                           const std::vector<InventoryLine>& lines, WallTime now,
                                           WallTime vouched_until, YamlMistakes& mistakes);

}  // namespace isthmus::infra

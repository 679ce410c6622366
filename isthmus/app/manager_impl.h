// The parts of the manager: one for each queue, each in a file of its own (manager_nodes.cc, …). A
// part builds its controllers, their watches and their recorders out of what it is given here, and
// the manager starts it, watches over it and stops it.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "isthmus/app/controller_part.h"
#include "isthmus/app/health.h"
#include "isthmus/app/manager.h"
#include "isthmus/app/watched.h"
#include "isthmus/base/scope.h"
#include "isthmus/cloud/deletion_stop.h"
#include "isthmus/controllers/node_lifecycle.h"
#include "isthmus/controllers/safety_switch.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/recorder.h"

namespace isthmus::app {

// What every part is given; all of it outlives the parts.
struct PartContext {
  const ManagerDoors& doors;
  const ManagerOptions& options;
  kube::Broadcaster& broadcaster;
  Watched<kube::Node>& nodes;  // Shared by all parts; the manager runs it.
  const controllers::SafetySwitch& safety;
  cloud::DeletionStop& deletion_stop;  // One for everything that deletes.

  // The API as a controller may use it: while its lease holds, within the budget.
  std::function<kube::ApiDoor&(std::string_view controller)> api;

  // For how long a controller may still write; zero: its lease is not ours.
  std::function<Duration(std::string_view controller)> leads_for = {};

  // How well the cloud can be asked, and whether it has said that it is the one it was.
  std::function<controllers::CloudHealth()> cloud_health = {};

  // Whether a controller is to be built: it is asked for, and the cloud can do what it needs. That
  // the cloud cannot is said in the log.
  bool wants(std::string_view controller, bool cloud_can) const;

  // Whether a controller runs under the lease of the leader migration.
  bool is_migrated(std::string_view controller) const;

  // A recorder whose events have the controller's source.
  std::unique_ptr<kube::Recorder> recorder(std::string_view controller) const;
};

class ManagerPart {
 public:
  virtual ~ManagerPart() = default;

  virtual ControllerPart& controllers() = 0;

  // Starts what runs beside the queue, before it: watchers of its own, and the like.
  virtual void start(Scope& beside) = 0;

  // What /readyz looks at besides the controllers, while this manager leads.
  virtual std::vector<HealthCheck> watch_checks(const Clock& clock) const = 0;
};

// Runs a part until the scope ends or its queue is drained. Where it ends otherwise, that part
// alone has failed: its check says so from then on, the log says why, and the answer is ok, so that
// the others go on. `drains` says whether queues are being stopped on purpose.
Task<Result<>> run_part(ManagerPart& part, const bool& drains, Logger& log);

// Null: none of the part's controllers is wanted.
std::unique_ptr<ManagerPart> make_nodes_part(const PartContext& context);
std::unique_ptr<ManagerPart> make_services_part(const PartContext& context);
std::unique_ptr<ManagerPart> make_routes_part(const PartContext& context);

}  // namespace isthmus::app

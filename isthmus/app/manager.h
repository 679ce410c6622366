// The manager: every object that `isthmus run` is made of, built by hand in one place, for the real
// world or any other.
//
//   API doors → watchers → stores → queues → node and service controller → cloud stack → provider
//
// It waits for the lease, leads, and leaves in order. Nothing here retries, parses or decides
// anything about Nodes or Services; it only connects those who do.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "isthmus/app/controller_names.h"
#include "isthmus/app/health.h"
#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/cloud/stack.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/service.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/elector.h"

namespace isthmus::app {

// What the manager reaches the outside by. The four ways to the API server have connections of
// their own, so that none waits behind another's.
struct ManagerDoors {
  Loop& loop;
  Random& random;
  Metrics& metrics;
  Logger& log;
  kube::ApiDoor& work_api;
  kube::ApiDoor& watch_api;
  kube::ApiDoor& lease_api;
  kube::ApiDoor& event_api;
  cloud::Stack& cloud;
};

struct ManagerOptions {
  bool leader_elect = true;
  kube::ElectorOptions election;
  std::string api_host;  // The `host` of the API's metrics.
  double api_qps = 200;  // Of work_api alone.
  unsigned api_burst = 400;

  // Those that run (controller_names.h), as far as the cloud can do what they need.
  std::set<std::string, std::less<>> controllers = {std::string(kNodeControllerName),
                                                    std::string(kServiceControllerName)};
  std::size_t node_workers = 10;
  controllers::NodeControllerOptions node;
  std::size_t service_workers = 10;
  controllers::ServiceControllerOptions service;

  // When asked to stop: what runs may go on for this long, then the last events are posted.
  // Together with the release of the lease this stays under the three seconds promised.
  Duration drain_max = std::chrono::milliseconds(1500);
  Duration flush_max = std::chrono::milliseconds(500);
};

// A resource; runs once. The doors outlive it.
class Manager final {
 public:
  Manager(ManagerDoors doors, ManagerOptions options);
  ~Manager();

  // Runs until `stopping` is set: then nothing new is begun, what runs is let finish or cut off
  // after drain_max, the lease is released, events are flushed, and the answer is ok. An error: the
  // lease was lost, or something that should run for ever ended.
  Task<Result<>> run(Signal& stopping);

  // What /livez and /readyz look at; they refer to this object.
  std::vector<HealthCheck> checks();

 private:
  struct Parts;

  static Task<Result<>> wind_down(Parts& parts, Signal& stopping, Scope& work);

  std::unique_ptr<Parts> parts_;
};

}  // namespace isthmus::app

// The manager: every object that `isthmus run` is made of, built by hand in one place, for the real
// world or any other.
//
//   API doors → watchers → stores → queues → controllers → cloud stack → provider
//
// It waits for the lease, leads, and leaves in order. Each queue with its controllers is a part
// with a file of its own (manager_impl.h); they start in one order, always: Nodes, Services,
// Routes. A part that fails is reported unhealthy, and the others go on. Nothing here retries,
// parses or decides anything about Nodes or Services; it only connects those who do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/controller_names.h"
#include "isthmus/app/health.h"
#include "isthmus/base/log.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/base/write_gate.h"
#include "isthmus/cloud/stack.h"
#include "isthmus/controllers/node.h"
#include "isthmus/controllers/node_lifecycle.h"
#include "isthmus/controllers/route.h"
#include "isthmus/controllers/service.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/elector.h"

namespace isthmus::app {

// The name under which manifests, dashboards and events know the manager.
inline constexpr std::string_view kManagerComponent = "cloud-controller-manager";

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
  WriteGate& gate;  // The one that the stack has as well; the manager brings its rules.

  // Instead of work_api for the controllers of a client (controller_names.h), by its name.
  std::map<std::string, std::reference_wrapper<kube::ApiDoor>, std::less<>> client_apis = {};
};

struct ManagerOptions {
  bool leader_elect = true;

  // The doors let no write out: no lease is taken, and the manager acts as if it led.
  bool dry_run = false;
  kube::ElectorOptions election;

  // Controllers that run under a second lease, which is only tried for while the first is held and
  // without which they do not run (leader_migration.h). Needs leader_elect.
  struct Migration {
    kube::ElectorOptions election;
    std::set<std::string, std::less<>> controllers;
    std::set<std::string, std::less<>> elsewhere;  // Not to run here: another component runs them.
  };
  std::optional<Migration> migration;

  std::string api_host;  // The `host` of the API's metrics.
  double api_qps = 200;  // Of work_api alone.
  unsigned api_burst = 400;

  // Between the starts of two queues, at random up to twice as long.
  Duration start_interval = {};

  // Those that run (controller_names.h), as far as the cloud can do what they need.
  std::set<std::string, std::less<>> controllers = {std::string(kNodeControllerName),
                                                    std::string(kServiceControllerName)};
  std::size_t node_workers = 10;
  controllers::NodeControllerOptions node;
  controllers::NodeLifecycleOptions node_lifecycle;
  std::size_t service_workers = 10;
  controllers::ServiceControllerOptions service;
  bool configure_routes = true;  // Without any of the pods' CIDRs there are none either.
  std::size_t route_workers = 10;
  controllers::RouteControllerOptions route;

  // What people stop the manager by, and acknowledge with (controllers/safety_config_map.h).
  kube::ObjectKey safety_config_map = {"kube-system", "isthmus-safety"};

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
  // after drain_max, the lease is released, events are flushed, and the answer is ok.
  //
  // lost: the lease was lost, or something that should run for ever ended. unsupported: the cloud
  // has nothing for any controller that is asked for. cancelled or deadline, of the calling scope:
  // all was cut off, and a lease that was held is left to run out.
  Task<Result<>> run(Signal& stopping);

  // What /livez and /readyz look at; they refer to this object.
  std::vector<HealthCheck> checks();

 private:
  struct Parts;
  struct Term;

  static Task<Result<>> wind_down(Parts& parts, Signal& stopping, Scope& work);

  std::unique_ptr<Parts> parts_;
};

}  // namespace isthmus::app

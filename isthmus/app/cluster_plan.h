// The plan of a whole cluster, found out in one look: reads the cluster, asks the cloud, and
// decides as the controllers do. Nothing is written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/manager.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/cloud/stack.h"
#include "isthmus/controllers/outlook.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/store.h"

namespace isthmus::app {

// What of it is wanted.
struct PlanWish {
  std::string kind;      // "node", "service", "route", or empty: everything.
  kube::ObjectKey name;  // Empty: all of that kind.

  bool wants(std::string_view this_kind) const { return kind.empty() || kind == this_kind; }
};

// Why a cloud was not asked. Its breaker answers `busy` once enough was lost, which tells people
// who look once nothing: what was lost before does.
class CloudSilence final {
 public:
  Error explained(Error error);

  // What was lost before explains nothing any more.
  void has_answered() { lost_.reset(); }

 private:
  std::optional<Error> lost_;  // The latest answer that was lost, or came too late.
};

// A resource; the doors outlive it.
class ClusterPlan final {
 public:
  // The options are those of the manager whose plan it is: what is switched off there is not
  // planned.
  ClusterPlan(kube::ApiDoor& api, cloud::Stack& cloud, const ManagerOptions& options)
      : api_(api), cloud_(cloud), options_(options) {}

  // Nodes first, then what Services and routes need, by name. What the cloud does not say is
  // `unknown` in its place. Errors: what the API server refuses to show, with the right it takes;
  // absent: there is nothing of the name.
  Task<Result<std::vector<controllers::Outlook>>> make(PlanWish wish);

 private:
  template <class T>
  Task<Result<>> read(PlanWish wish, kube::Projection projection, kube::Store<T>& store,
                      std::vector<controllers::Outlook>& outlooks);
  bool runs(std::string_view controller) const { return options_.controllers.contains(controller); }
  controllers::Outlook not_asked(std::string kind, kube::ObjectKey key, Error error);
  Task<Result<>> look_at_switch(std::vector<controllers::Outlook>& outlooks);
  Task<Result<>> plan_nodes(PlanWish wish, std::vector<controllers::Outlook>& outlooks);
  Task<Result<>> plan_life(kube::Snapshot<kube::Node> node, cloud::Instances& machines,
                           std::vector<controllers::Outlook>& outlooks);
  Task<Result<>> plan_services(PlanWish wish, std::vector<controllers::Outlook>& outlooks);
  Task<Result<>> plan_routes(PlanWish wish, std::vector<controllers::Outlook>& outlooks);

  kube::ApiDoor& api_;
  cloud::Stack& cloud_;
  const ManagerOptions& options_;
  CloudSilence silence_;
  kube::Store<kube::Node> nodes_;
  kube::Store<kube::Service> services_;
};

// An error of the API server, for who may not see everything: names the verb and what it is on.
Error not_shown(std::string_view verb, std::string_view resource, Error error);

}  // namespace isthmus::app

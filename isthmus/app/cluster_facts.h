// Finds out what `isthmus explain` explains: reads single objects, asks the cloud, and keeps the
// error of whatever cannot be read beside what can. Nothing is written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/manager.h"
#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"
#include "isthmus/cloud/stack.h"
#include "isthmus/controllers/node_explanation.h"
#include "isthmus/controllers/service_explanation.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::app {

// A resource; the doors outlive it.
class ClusterFacts final {
 public:
  // `cloud` may be null: then everything about it is unknown.
  ClusterFacts(kube::ApiDoor& api, cloud::Stack* cloud, const ManagerOptions& options,
               const Clock& clock)
      : api_(api), cloud_(cloud), options_(options), clock_(clock) {}

  // Each takes some seconds where a Lease seems not to be renewed: it is looked at twice. Errors:
  // cancelled and deadline of the calling scope.
  Task<Result<controllers::ServiceFacts>> of_service(kube::ObjectKey key);
  Task<Result<controllers::NodeFacts>> of_node(kube::ObjectKey key);

 private:
  template <class T>
  Task<Result<std::optional<T>>> read(kube::ObjectKey key, kube::Projection projection);
  Task<Result<controllers::LeaseFacts>> look_at(kube::ObjectKey lease);
  Task<Result<controllers::LeaseFacts>> manager();
  Task<Result<controllers::SwitchFacts>> safety();
  Task<Result<std::vector<kube::Event>>> events(std::string kind, kube::ObjectKey about);
  Task<Result<controllers::EligibleNodes>> eligible();
  Task<Result<>> ask_about(const kube::Service& service, controllers::ServiceFacts& facts);
  Task<Result<controllers::Evidence>> evidence(kube::Node node);

  kube::ApiDoor& api_;
  cloud::Stack* cloud_;
  const ManagerOptions& options_;
  const Clock& clock_;
};

}  // namespace isthmus::app

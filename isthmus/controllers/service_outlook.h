// What would become of Services now (outlook.h), by the plan that the service controller acts on
// and by what the cloud says an ensure would do. Nothing is written anywhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isthmus/cloud/ownership.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/controllers/eligible_nodes.h"
#include "isthmus/controllers/outlook.h"
#include "isthmus/controllers/service.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// A resource; what it is built from outlives it. The cloud has load balancers (asserted), and the
// store all Services.
class ServiceOutlook final {
 public:
  ServiceOutlook(ServiceControllerOptions options, kube::Store<kube::Service>& services,
                 const EligibleNodes& nodes, cloud::ClusterUid cluster, cloud::Provider& cloud);

  // Asks the cloud what it has; before anything else. Errors: the cloud's.
  Task<Result<>> learn();

  // Unknown where the cloud does not say. Errors: cancelled.
  Task<Result<Outlook>> of(kube::Snapshot<kube::Service> service);

  // Of the set of targets that all of them share; nothing where there is none.
  std::optional<Outlook> of_targets() const;

  // Of load balancers whose Service is gone.
  std::vector<Outlook> of_orphans() const;

  // What is to become of it, as the controller would decide now.
  ServicePlan plan(const kube::Service& service) const;

  // What the cloud has; null: none of this name.
  const cloud::LoadBalancerState* find(std::string_view name) const;

 private:
  Task<Result<>> learn_targets();

  // Whose load balancer of that name is, or would be.
  std::optional<kube::ObjectKey> owner(std::string_view name) const;
  Outlook released(const kube::Service& service, const ReleaseService& act) const;
  Task<Result<Outlook>> ensured(kube::Snapshot<kube::Service> service, EnsureService act);
  Outlook standing(const kube::Service& service, bool adds_finalizer,
                   const cloud::LoadBalancerState& state) const;

  const ServiceControllerOptions options_;
  kube::Store<kube::Service>& services_;
  const EligibleNodes& nodes_;
  const cloud::ClusterUid cluster_;
  cloud::LoadBalancers& balancers_;
  cloud::TargetSets* sets_;  // Null: targets are named inline.
  std::map<std::string, cloud::LoadBalancerState, std::less<>> states_;
  NodeHealth automatic_ = NodeHealth::kube_proxy;
  std::optional<cloud::TargetSetPreview> set_;  // nullopt: there are no sets.
};

}  // namespace isthmus::controllers

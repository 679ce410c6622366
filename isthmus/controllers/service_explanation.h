// The chain of a Service: object, class, wish, manager, switch, finalizer, load balancer, address,
// rules, targets, health, status (explanation.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isthmus/cloud/load_balancer.h"
#include "isthmus/controllers/eligible_nodes.h"
#include "isthmus/controllers/explanation.h"
#include "isthmus/controllers/service_plan.h"
#include "isthmus/kube/api/service.h"

namespace isthmus::controllers {

// What is known of a Service; an error says why something is not.
struct ServiceFacts {
  kube::ObjectKey key = {};
  Result<std::optional<kube::Service>> service = std::optional<kube::Service>();
  bool is_served_here = true;  // By these flags.
  Result<ServicePlan> plan = ServicePlan();
  Result<LeaseFacts> lease = LeaseFacts();
  Result<SwitchFacts> safety = SwitchFacts();
  Result<EligibleNodes> nodes = EligibleNodes();
  bool has_cloud = true;  // One was named to ask.
  std::string balancer_name = {};

  // What the cloud has of that name; nullopt: it has none.
  Result<std::optional<cloud::LoadBalancerState>> balancer =
      std::optional<cloud::LoadBalancerState>();
  std::vector<kube::Event> events = {};
  std::optional<Error> no_events = {};  // Why they could not be read.
};

Explanation explain(const ServiceFacts& facts);

}  // namespace isthmus::controllers

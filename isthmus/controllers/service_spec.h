// A Service, as the load balancer that it asks for.
//
// What each field means here, for people: docs/reference/services.md. Without meaning are
// externalIPs, internalTrafficPolicy, targetPort, appProtocol, publishNotReadyAddresses and the
// selector: those are about the way from a Node to the pods, which is kube-proxy's.
#pragma once

#include <string>
#include <vector>

#include "isthmus/controllers/service_complaints.h"
#include "isthmus/controllers/service_plan.h"
#include "isthmus/kube/api/service.h"

namespace isthmus::controllers {

struct SpecifiedService {
  EnsureService ensure = {};  // Means nothing where there are complaints.
  Complaints complaints = {};
  std::vector<Notice> notices = {};  // Of the ensure.
};

// The Service wants a load balancer, and it is served here; `name` is the load balancer's.
SpecifiedService specify(const kube::Service& service, std::string name,
                         const ServicePlanOptions& options,
                         const ServiceSurroundings& surroundings);

}  // namespace isthmus::controllers

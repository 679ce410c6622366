// What would become of routes now (outlook.h), by the plan that the route controller acts on.
#pragma once

#include <vector>

#include "isthmus/cloud/ownership.h"
#include "isthmus/cloud/provider.h"
#include "isthmus/controllers/outlook.h"
#include "isthmus/controllers/route_plan.h"
#include "isthmus/kube/api/node.h"
#include "isthmus/kube/store.h"

namespace isthmus::controllers {

// What the cloud has where routes of this cluster may be; of its table where it takes them whole.
// Errors: the cloud's. It has route tables or routes (asserted).
Task<Result<std::vector<cloud::RouteState>>> present_routes(cloud::ClusterUid cluster,
                                                            cloud::Provider& cloud);

// In the order of the destinations, with the Nodes that get no route at the end.
std::vector<Outlook> outlooks_of(const RoutePlan& plan);

}  // namespace isthmus::controllers

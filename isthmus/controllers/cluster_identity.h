// Which cluster this is: the uid of the namespace kube-system (cloud/ownership.h says why).
#pragma once

#include "isthmus/cloud/ownership.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::controllers {

// Asks the API server. Errors: those of the door; lost where the answer holds no usable uid. Needs
// the verb get on that one namespace.
Task<Result<cloud::ClusterUid>> read_cluster_uid(kube::ApiDoor& api);

// Asks whether it still is this one: before what is missing counts as gone. An API server that has
// lost its store has made another kube-system. Errors: as above; conflict: it is another cluster.
Task<Result<>> confirm_cluster(kube::ApiDoor& api, cloud::ClusterUid cluster);

}  // namespace isthmus::controllers

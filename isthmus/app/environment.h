// What main has read of the process's surroundings.
#pragma once

#include <string>

#include "isthmus/kube/config.h"

namespace isthmus::app {

struct Environment {
  std::string host_name;
  kube::InClusterEnvironment in_cluster;
};

}  // namespace isthmus::app

// Which Isthmus this is.
#pragma once

#include <string>

#include "isthmus/base/metrics.h"

namespace isthmus::app {

// "0.1.0", as the build was told.
std::string version();

// "isthmus v0.1.0", and with `raw` also the compiler and the platform, one line each.
std::string version_text(bool raw);

// What /version answers: the fields of a Kubernetes component of which we know the value.
std::string version_json();

// Exports kubernetes_build_info: who runs which version where.
void export_build_info(Metrics& metrics);

// What we call ourselves to servers: "isthmus/v0.1.0 (linux/amd64) leader-election".
std::string user_agent(const std::string& purpose);

}  // namespace isthmus::app

// Everything `isthmus run` reads before it starts: flags, kubeconfig, the provider's configuration,
// certificates. All mistakes of all of them are reported together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isthmus/app/environment.h"
#include "isthmus/app/manager.h"
#include "isthmus/app/run_options.h"
#include "isthmus/app/serving_setup.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/kube/config.h"
#include "isthmus/net/world_posix.h"
#include "isthmus/providers/make.h"

namespace isthmus::app {

struct RunSetup {
  kube::ClusterConfig cluster;
  providers::Made cloud;
  ManagerOptions manager;

  std::optional<ServingSetup> serving;  // nullopt: --secure-port=0.
  bool own_accounts = false;            // --use-service-account-credentials
  std::string component_config;         // What /configz answers.
};

// The setup, or nullopt with at least one mistake added. Sends nothing.
std::optional<RunSetup> prepare_run(net::PosixWorld& world, const RunOptions& options,
                                    const Environment& environment, Mistakes& mistakes);

// The same for a command that looks at what such a manager does: nothing is served and no lease is
// taken. Without --cloud-provider and --cloud-config there is no cloud (its provider is null); the
// former alone may be left out.
std::optional<RunSetup> prepare_look(net::PosixWorld& world, RunOptions options,
                                     const Environment& environment, Mistakes& mistakes);

}  // namespace isthmus::app

// Everything `isthmus run` reads before it starts: flags, kubeconfig, the provider's configuration,
// certificates. All mistakes of all of them are reported together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isthmus/app/manager.h"
#include "isthmus/app/run_options.h"
#include "isthmus/app/serving.h"
#include "isthmus/base/mistakes.h"
#include "isthmus/kube/config.h"
#include "isthmus/net/http_server.h"
#include "isthmus/net/world_posix.h"
#include "isthmus/providers/make.h"

namespace isthmus::app {

// What main has read of the process's surroundings.
struct Environment {
  std::string host_name;
  kube::InClusterEnvironment in_cluster;
};

struct RunSetup {
  kube::ClusterConfig cluster;
  providers::Made cloud;
  ManagerOptions manager;

  // Of the secure port; nullopt: --secure-port=0.
  struct Serving {
    net::ListenAddress address;
    CertificateFiles files;
    std::vector<std::string> names;  // Of a certificate made on the spot.
    net::ServerTls tls;
  };
  std::optional<Serving> serving;
};

// The setup, or nullopt with at least one mistake added. Sends nothing.
std::optional<RunSetup> prepare_run(net::PosixWorld& world, const RunOptions& options,
                                    const Environment& environment, Mistakes& mistakes);

}  // namespace isthmus::app

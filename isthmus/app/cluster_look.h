// A way to a cluster and its cloud for commands that look once (`isthmus plan`, `isthmus explain`):
// the manager's own layers, with a gate of all changes that nothing opens.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "isthmus/app/api_way.h"
#include "isthmus/app/run_setup.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/write_gate.h"
#include "isthmus/cloud/stack.h"
#include "isthmus/kube/layers.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::app {

// A resource; the world outlives it.
class ClusterLook final {
 public:
  // `purpose` ends the user agent. Takes the cloud out of the setup. invalid as ApiWay::open().
  static Result<std::unique_ptr<ClusterLook>> open(net::PosixWorld& world, RunSetup& setup,
                                                   const std::string& purpose);

  ClusterLook(net::PosixWorld& world, RunSetup& setup);

  kube::ApiDoor& api() { return *api_; }

  // Null: no cloud was named.
  cloud::Stack* cloud() { return cloud_ ? &*cloud_ : nullptr; }

 private:
  Metrics metrics_;
  NullLogger log_;
  WriteGate gate_{metrics_};
  std::unique_ptr<ApiWay> way_;
  std::optional<kube::GatedApi> api_;
  std::optional<cloud::Stack> cloud_;
};

}  // namespace isthmus::app

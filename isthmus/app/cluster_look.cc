#include "isthmus/app/cluster_look.h"

#include <utility>

namespace isthmus::app {

Result<std::unique_ptr<ClusterLook>> ClusterLook::open(net::PosixWorld& world, RunSetup& setup,
                                                       const std::string& purpose) {
  auto look = std::make_unique<ClusterLook>(world, setup);
  look->way_ = TRY(ApiWay::open(world, setup.cluster, purpose, {}, look->metrics_));
  look->api_.emplace(look->way_->api(), look->gate_);
  return look;
}

ClusterLook::ClusterLook(net::PosixWorld& world, RunSetup& setup) {
  if (!setup.cloud.provider) return;
  cloud_.emplace(std::move(setup.cloud.provider), setup.cloud.limits, gate_, world.loop(), metrics_,
                 log_);
}

}  // namespace isthmus::app

#include "isthmus/app/api_way.h"

#include <utility>

#include "isthmus/app/version.h"

namespace isthmus::app {

Result<std::unique_ptr<ApiWay>> ApiWay::open(net::PosixWorld& world,
                                             const kube::ClusterConfig& cluster,
                                             const std::string& purpose,
                                             net::TransportLimits limits, Metrics& metrics) {
  net::Endpoint endpoint{.url = cluster.server, .tls = cluster.tls, .proxy = cluster.proxy};
  auto transport = TRY(net::make_curl_transport(world, std::move(endpoint), limits));
  return std::make_unique<ApiWay>(world, cluster, purpose, std::move(transport), metrics);
}

ApiWay::ApiWay(net::PosixWorld& world, const kube::ClusterConfig& cluster,
               const std::string& purpose, std::unique_ptr<net::Transport> transport,
               Metrics& metrics)
    : transport_(std::move(transport)),
      tokens_(cluster, world.files(), world.loop()),
      api_(*transport_, tokens_,
           {.user_agent = user_agent(purpose), .host = kube::host_of(cluster)}, world.loop(),
           metrics) {}

}  // namespace isthmus::app

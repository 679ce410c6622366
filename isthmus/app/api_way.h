// One way to an API server: connections, a user agent and a token of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/client.h"
#include "isthmus/kube/config.h"
#include "isthmus/kube/dry_run_api.h"
#include "isthmus/kube/tokens.h"
#include "isthmus/net/curl_transport.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::app {

// A resource. World and metrics outlive it.
class ApiWay final {
 public:
  // `purpose` ends the user agent: "leader-election". invalid as make_curl_transport() answers.
  static Result<std::unique_ptr<ApiWay>> open(net::PosixWorld& world,
                                              const kube::ClusterConfig& cluster,
                                              const std::string& purpose,
                                              net::TransportLimits limits, Metrics& metrics);

  ApiWay(net::PosixWorld& world, const kube::ClusterConfig& cluster, const std::string& purpose,
         std::unique_ptr<net::Transport> transport, Metrics& metrics);

  kube::ApiDoor& api() { return dry_run_ ? static_cast<kube::ApiDoor&>(*dry_run_) : api_; }

  // From now on api() lets no write out, and says in the log what would be written.
  void write_nothing(Logger& log) { dry_run_.emplace(api_, log); }

 private:
  std::unique_ptr<net::Transport> transport_;
  kube::ConfiguredTokens tokens_;
  kube::HttpApi api_;
  std::optional<kube::DryRunApi> dry_run_;
};

}  // namespace isthmus::app

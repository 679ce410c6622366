// The clients by which controllers speak to the API server, one for each client name of upstream's
// (controller_names.h): with a user agent of its own, so that audit logs tell them apart, and with
// --use-service-account-credentials as a ServiceAccount of its own, so that roles do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/kube/api_door.h"
#include "isthmus/kube/config.h"
#include "isthmus/net/transport.h"
#include "isthmus/net/world_posix.h"

namespace isthmus::app {

// The namespace of these ServiceAccounts, upstream's.
inline constexpr std::string_view kAccountNamespace = "kube-system";

// A resource. World, metrics, log and `root` outlive it.
class ControllerClients final {
 public:
  enum class Identity {
    shared,       // All are who the configuration says.
    own_account,  // Each is a ServiceAccount by the client's name; `root` may make its tokens.
  };

  // invalid as net::make_curl_transport() answers.
  static Result<std::unique_ptr<ControllerClients>> open(net::PosixWorld& world,
                                                         const kube::ClusterConfig& cluster,
                                                         Identity identity, kube::ApiDoor& root,
                                                         Metrics& metrics, Logger& log);
  ControllerClients(net::PosixWorld& world, const kube::ClusterConfig& cluster, Identity identity,
                    std::unique_ptr<net::Transport> transport, kube::ApiDoor& root,
                    Metrics& metrics, Logger& log);
  ~ControllerClients();

  // By client name, as ManagerDoors takes them.
  std::map<std::string, std::reference_wrapper<kube::ApiDoor>, std::less<>> apis();

 private:
  struct Client;
  std::unique_ptr<net::Transport> transport_;
  std::map<std::string, std::unique_ptr<Client>, std::less<>> clients_;
};

// The configuration as one sees it who is nobody yet: without certificate and token, which would
// otherwise say who we are before a ServiceAccount's token could.
kube::ClusterConfig without_identity(kube::ClusterConfig cluster);

}  // namespace isthmus::app

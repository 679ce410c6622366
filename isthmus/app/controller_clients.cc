#include "isthmus/app/controller_clients.h"

#include <optional>
#include <utility>

#include "isthmus/app/controller_names.h"
#include "isthmus/app/version.h"
#include "isthmus/kube/client.h"
#include "isthmus/kube/service_account_tokens.h"
#include "isthmus/kube/tokens.h"
#include "isthmus/net/curl_transport.h"

namespace isthmus::app {
namespace {

// Of all of them together: as many as of a single client before.
constexpr std::size_t kConnectionsMax = 16;

std::string purpose_of(const std::string& client, ControllerClients::Identity identity) {
  if (identity == ControllerClients::Identity::shared) return client;
  return "system:serviceaccount:" + std::string(kAccountNamespace) + ":" + client;
}

}  // namespace

struct ControllerClients::Client {
  Client(const std::string& name, net::PosixWorld& world, const kube::ClusterConfig& cluster,
         Identity identity, net::Transport& transport, kube::ApiDoor& root, Metrics& metrics,
         Logger& log)
      : configured(cluster, world.files(), world.loop()),
        account(root, {std::string(kAccountNamespace), name}, world.loop(), world.random(), log),
        http(transport, tokens(identity),
             {.user_agent = user_agent(purpose_of(name, identity)), .host = kube::host_of(cluster)},
             world.loop(), metrics) {
    if (identity == Identity::own_account) as_account.emplace(http, account);
  }

  kube::TokenSource& tokens(Identity identity) {
    if (identity == Identity::own_account) return account;
    return configured;
  }
  kube::ApiDoor& api() { return as_account ? static_cast<kube::ApiDoor&>(*as_account) : http; }

  kube::ConfiguredTokens configured;
  kube::ServiceAccountTokens account;
  kube::HttpApi http;
  std::optional<kube::AccountApi> as_account;
};

Result<std::unique_ptr<ControllerClients>> ControllerClients::open(
    net::PosixWorld& world, const kube::ClusterConfig& cluster, Identity identity,
    kube::ApiDoor& root, Metrics& metrics, Logger& log) {
  const kube::ClusterConfig seen =
      identity == Identity::own_account ? without_identity(cluster) : cluster;
  net::Endpoint endpoint{.url = seen.server, .tls = seen.tls, .proxy = seen.proxy};
  auto transport = TRY(
      net::make_curl_transport(world, std::move(endpoint), {.connections_max = kConnectionsMax}));
  return std::make_unique<ControllerClients>(world, seen, identity, std::move(transport), root,
                                             metrics, log);
}

ControllerClients::ControllerClients(net::PosixWorld& world, const kube::ClusterConfig& cluster,
                                     Identity identity, std::unique_ptr<net::Transport> transport,
                                     kube::ApiDoor& root, Metrics& metrics, Logger& log)
    : transport_(std::move(transport)) {
  for (const ControllerName& each : controller_names()) {
    const std::string name(each.client);
    if (clients_.contains(name)) continue;
    clients_.emplace(name, std::make_unique<Client>(name, world, cluster, identity, *transport_,
                                                    root, metrics, log));
  }
}

ControllerClients::~ControllerClients() = default;

std::map<std::string, std::reference_wrapper<kube::ApiDoor>, std::less<>>
ControllerClients::apis() {
  std::map<std::string, std::reference_wrapper<kube::ApiDoor>, std::less<>> apis;
  for (const auto& [name, client] : clients_) apis.emplace(name, client->api());
  return apis;
}

kube::ClusterConfig without_identity(kube::ClusterConfig cluster) {
  cluster.tls.certificate_pem.clear();
  cluster.tls.private_key_pem = {};
  cluster.token = {};
  cluster.token_file.clear();
  return cluster;
}

}  // namespace isthmus::app

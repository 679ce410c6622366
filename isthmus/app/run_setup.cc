#include "isthmus/app/run_setup.h"

#include <fmt/format.h>

#include <cctype>

#include "isthmus/base/text.h"
#include "isthmus/kube/api/names.h"

namespace isthmus::app {
namespace {

// Takes the value, or adds the error's lines as mistakes.
template <class T>
std::optional<T> take(Result<T> result, std::string_view where, Mistakes& mistakes) {
  if (result) return std::move(*result);
  mistakes.add(where, result.error().message);
  return std::nullopt;
}

std::optional<kube::ClusterConfig> load_cluster(Files& files, const RunOptions& options,
                                                const Environment& environment,
                                                Mistakes& mistakes) {
  std::string master;
  if (!options.master.empty()) {
    master = take(kube::parse_server(options.master), "--master", mistakes).value_or("");
  }
  if (!options.kubeconfig.empty()) {
    return take(kube::load_kubeconfig(files, options.kubeconfig, {.server = master}),
                "--kubeconfig", mistakes);
  }
  std::optional<kube::ClusterConfig> cluster = take(
      kube::load_in_cluster(files, environment.in_cluster), "--kubeconfig is not given", mistakes);
  if (cluster && !master.empty()) cluster->server = master;
  return cluster;
}

std::optional<providers::Made> make_cloud(net::PosixWorld& world, const RunOptions& options,
                                          Mistakes& mistakes) {
  if (options.cloud_provider.empty()) return std::nullopt;  // A mistake that is reported already.
  providers::Doors doors{
      .clock = world.loop(), .files = world.files(), .connect = [&world](net::Endpoint endpoint) {
        return net::make_curl_transport(world, std::move(endpoint));
      }};
  return take(providers::make_provider(options.cloud_provider, options.cloud_config, doors),
              "--cloud-provider, --cloud-config", mistakes);
}

std::optional<RunSetup::Serving> prepare_serving(net::PosixWorld& world, const RunOptions& options,
                                                 const Environment& environment,
                                                 Mistakes& mistakes) {
  const std::string host = options.bind_address.find(':') == std::string::npos
                               ? options.bind_address
                               : fmt::format("[{}]", options.bind_address);
  RunSetup::Serving serving;
  Result<net::ListenAddress> address =
      net::parse_listen_address(fmt::format("https://{}:{}", host, options.secure_port));
  if (!address) mistakes.add("--bind-address", address.error().message);
  serving.files = {options.tls_cert_file, options.tls_private_key_file};
  serving.names = {"localhost", "127.0.0.1", "::1", environment.host_name};
  std::optional<net::ServerTls> tls =
      take(load_certificate(world.files(), serving.files, serving.names, world.loop().wall_now()),
           "--tls-cert-file, --tls-private-key-file", mistakes);
  if (!address || !tls) return std::nullopt;
  serving.address = *address;
  serving.tls = *tls;
  return serving;
}

std::vector<controllers::MatchBy> match_order(const RunOptions& options, Mistakes& mistakes) {
  return take(controllers::parse_match_order(options.node_match_order), "--node-match-order",
              mistakes)
      .value_or(std::vector<controllers::MatchBy>{});
}

// An empty list serves no class. Anything the API server would take for a class is one.
std::set<std::string, std::less<>> served_classes(const RunOptions& options, Mistakes& mistakes) {
  std::set<std::string, std::less<>> classes;
  if (trimmed(options.load_balancer_classes).empty()) return classes;
  for (const std::string_view part : split(options.load_balancer_classes, ',')) {
    const std::string_view name = trimmed(part);
    Result<> good = kube::check_label_key(name);
    if (!good) {
      mistakes.add("--load-balancer-classes",
                   fmt::format("{}: {}", quoted(name), good.error().message));
    }
    classes.emplace(name);
  }
  return classes;
}

controllers::ServiceControllerOptions service_options(const RunOptions& options,
                                                      Mistakes& mistakes) {
  controllers::ServiceControllerOptions service;
  service.plan.classes = served_classes(options, mistakes);
  service.plan.serves_unclassed = options.serve_unclassed_services;
  service.plan.node_health = controllers::parse_node_health(options.lb_node_health)
                                 .value_or(controllers::NodeHealth::automatic);
  service.shares_targets = options.lb_target_sets;
  service.drift_every = options.load_balancer_drift_period;
  service.orphan_grace = options.load_balancer_orphan_grace;
  if (service.plan.classes.empty() && !service.plan.serves_unclassed) {
    mistakes.add("--load-balancer-classes and --serve-unclassed-services",
                 "serve no Service at all; use --controllers=*,-service-lb-controller for that");
  }
  return service;
}

ManagerOptions manager_options(const RunOptions& options, const Environment& environment,
                               Random& random, Mistakes& mistakes) {
  ManagerOptions manager;
  manager.leader_elect = options.leader_elect;
  manager.election = {.lease = {.name_space = options.leader_elect_resource_namespace,
                                .name = options.leader_elect_resource_name},
                      .identity = environment.host_name + "_" + random.uuid(),
                      .lease_duration = options.leader_elect_lease_duration,
                      .renew_deadline = options.leader_elect_renew_deadline,
                      .retry_period = options.leader_elect_retry_period};
  manager.api_qps = options.kube_api_qps;
  manager.api_burst = static_cast<unsigned>(options.kube_api_burst);
  manager.controllers = take(parse_controllers(options.controllers), "--controllers", mistakes)
                            .value_or(std::set<std::string, std::less<>>{});
  manager.service_workers = static_cast<std::size_t>(options.concurrent_service_syncs);
  manager.service = service_options(options, mistakes);
  manager.node_workers = static_cast<std::size_t>(options.concurrent_node_syncs);
  manager.node.plan.match_order = match_order(options, mistakes);
  manager.node.plan.refresh_labels = options.node_labels_refresh;
  manager.node.plan.node_ip_filter = options.node_ip_per_family
                                         ? controllers::NodeIpFilter::per_family
                                         : controllers::NodeIpFilter::whole_type;
  manager.node.refresh_every = options.node_status_update_frequency;
  return manager;
}

}  // namespace

std::optional<RunSetup> prepare_run(net::PosixWorld& world, const RunOptions& options,
                                    const Environment& environment, Mistakes& mistakes) {
  std::optional<kube::ClusterConfig> cluster =
      load_cluster(world.files(), options, environment, mistakes);
  std::optional<providers::Made> cloud = make_cloud(world, options, mistakes);
  std::optional<RunSetup::Serving> serving;
  if (options.secure_port != 0) serving = prepare_serving(world, options, environment, mistakes);
  ManagerOptions manager = manager_options(options, environment, world.random(), mistakes);
  if (!mistakes.empty()) return std::nullopt;
  manager.node.plan.scheme = cloud->provider->scheme();
  manager.api_host = kube::host_of(*cluster);
  return RunSetup{.cluster = std::move(*cluster),
                  .cloud = std::move(*cloud),
                  .manager = std::move(manager),
                  .serving = std::move(serving)};
}

}  // namespace isthmus::app

#include "isthmus/app/run_setup.h"

#include <fmt/format.h>

#include "isthmus/app/component_config.h"
#include "isthmus/app/leader_migration.h"
#include "isthmus/app/run_flags_impl.h"

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
  if (!options.generic.master.empty()) {
    master = take(kube::parse_server(options.generic.master), "--master", mistakes).value_or("");
  }
  if (!options.generic.kubeconfig.empty()) {
    return take(kube::load_kubeconfig(files, options.generic.kubeconfig, {.server = master}),
                "--kubeconfig", mistakes);
  }
  std::optional<kube::ClusterConfig> cluster = take(
      kube::load_in_cluster(files, environment.in_cluster), "--kubeconfig is not given", mistakes);
  if (cluster && !master.empty()) cluster->server = master;
  return cluster;
}

std::optional<providers::Made> make_cloud(net::PosixWorld& world, const RunOptions& options,
                                          Mistakes& mistakes) {
  if (options.generic.cloud_provider.empty())
    return std::nullopt;  // A mistake that is reported already.
  providers::Doors doors{
      .clock = world.loop(), .files = world.files(), .connect = [&world](net::Endpoint endpoint) {
        return net::make_curl_transport(world, std::move(endpoint));
      }};
  // What is wrong there names the flag, or the file and its line.
  return take(
      providers::make_provider(options.generic.cloud_provider, options.generic.cloud_config, doors),
      "", mistakes);
}

// Which cloud is meant where only its configuration is named.
constexpr const char* kOnlyProvider = "isthmus";

// A migration file names a few controllers.
constexpr std::size_t kMigrationBytesMax = std::size_t{64} << 10;

std::optional<LeaderMigration> read_migration(Files& files, const std::string& path,
                                              Mistakes& mistakes) {
  const std::optional<std::string> text =
      take(files.read(path, kMigrationBytesMax), "--leader-migration-config", mistakes);
  if (!text) return std::nullopt;
  return take(parse_leader_migration(*text, path), "--leader-migration-config", mistakes);
}

std::optional<LeaderMigration> load_migration(Files& files, const RunOptions& options,
                                              Mistakes& mistakes) {
  if (!options.migration.enable_leader_migration) return std::nullopt;
  const std::string& path = options.migration.leader_migration_config;
  std::optional<LeaderMigration> migration =
      path.empty() ? default_leader_migration() : read_migration(files, path, mistakes);
  if (migration && migration->lease == options.election.resource_name) {
    mistakes.add(path.empty() ? "--enable-leader-migration" : path + ": leaderName",
                 "the lease must not be that of --leader-elect-resource-name");
  }
  return migration;
}

// Both leases are held with the same times and by the same name; only the main one is sought first.
void migrate(const LeaderMigration& migration, ManagerOptions& manager) {
  manager.migration.emplace(manager.election, migration.ours(), migration.others());
  manager.migration->election.lease.name = migration.lease;
}

ManagerOptions manager_options(const RunOptions& options, const Environment& environment,
                               Random& random, Mistakes& mistakes) {
  ManagerOptions manager;
  manager.leader_elect = options.election.leader_elect;
  manager.election = {
      .lease = {.name_space = options.election.resource_namespace,
                .name = options.election.resource_name},
      .identity = environment.host_name + "_" + random.uuid(),
      .lease_duration = options.election.lease_duration,
      .renew_deadline = options.election.renew_deadline,
      .retry_period = options.election.retry_period,
      .release_on_exit = options.generic.feature_gates.said(kReleaseGate).value_or(true)};
  manager.safety_config_map.name = options.safety.config_map;
  manager.api_qps = options.generic.kube_api_qps;
  manager.api_burst = static_cast<unsigned>(options.generic.kube_api_burst);
  manager.start_interval = options.generic.controller_start_interval;
  manager.dry_run = options.generic.dry_run;
  manager.controllers =
      take(parse_controllers(options.generic.controllers), "--controllers", mistakes)
          .value_or(std::set<std::string, std::less<>>{});
  manager.service_workers = static_cast<std::size_t>(options.service.concurrent_syncs);
  manager.service = service_options(options.service, mistakes);
  manager.node_workers = static_cast<std::size_t>(options.node.concurrent_syncs);
  manager.node = node_options(options.node, mistakes);
  manager.node_lifecycle = lifecycle_options(options.lifecycle);
  manager.configure_routes = options.route.configure_cloud_routes;
  manager.route = route_options(options.route);
  return manager;
}

}  // namespace

std::optional<RunSetup> prepare_run(net::PosixWorld& world, const RunOptions& options,
                                    const Environment& environment, Mistakes& mistakes) {
  std::optional<kube::ClusterConfig> cluster =
      load_cluster(world.files(), options, environment, mistakes);
  std::optional<providers::Made> cloud = make_cloud(world, options, mistakes);
  std::optional<ServingSetup> serving;
  if (options.serving.secure_port != 0) {
    serving =
        prepare_serving(world.files(), options, environment, world.loop().wall_now(), mistakes);
  }
  ManagerOptions manager = manager_options(options, environment, world.random(), mistakes);
  const std::optional<LeaderMigration> migration = load_migration(world.files(), options, mistakes);
  if (!mistakes.empty()) return std::nullopt;
  if (cloud) manager.node.plan.scheme = cloud->provider->scheme();
  if (cloud) manager.node_lifecycle.plan.scheme = cloud->provider->scheme();
  if (cloud) manager.route.plan.scheme = cloud->provider->scheme();
  manager.api_host = kube::host_of(*cluster);
  // A dry run leads nothing, and shows what would be done by whoever leads.
  if (migration && !manager.dry_run) migrate(*migration, manager);
  return RunSetup{.cluster = std::move(*cluster),
                  .cloud = cloud ? std::move(*cloud) : providers::Made{},
                  .manager = std::move(manager),
                  .serving = std::move(serving),
                  .own_accounts = options.generic.use_service_account_credentials,
                  .component_config = component_config(options, migration)};
}

std::optional<RunSetup> prepare_look(net::PosixWorld& world, RunOptions options,
                                     const Environment& environment, Mistakes& mistakes) {
  options.serving.secure_port = 0;
  const bool names_cloud = !options.generic.cloud_config.empty();
  if (options.generic.cloud_provider.empty() && names_cloud) {
    options.generic.cloud_provider = kOnlyProvider;
  }
  const bool has_cloud = !options.generic.cloud_provider.empty();
  if (!has_cloud) options.generic.cloud_provider = kOnlyProvider;  // For the rules of the flags.
  find_contradictions(options, mistakes);
  if (!has_cloud) options.generic.cloud_provider.clear();
  return prepare_run(world, options, environment, mistakes);
}

}  // namespace isthmus::app

#include "isthmus/app/run_options.h"

#include <fmt/format.h>

#include "isthmus/base/rate_limit.h"
#include "isthmus/kube/api/names.h"

namespace isthmus::app {
namespace {

constexpr std::int64_t kPortMax = 65535;

// A thousand Nodes compared every second are a thousand looks at the cache; below that lies waste.
constexpr Duration kRefreshMin = std::chrono::seconds(1);
constexpr std::int64_t kWorkersMax = 1000;
constexpr std::int64_t kBurstMax = 100'000;

void add_generic(FlagTable& table, RunOptions& options) {
  const std::string group = "Generic flags";
  table.text("cloud-provider", options.cloud_provider, group,
             "Provider that knows the machines: isthmus. Required.");
  table.text("cloud-config", options.cloud_config, group, "Path of the provider's configuration.");
  table.text("cluster-name", options.cluster_name, group,
             "Name of the cluster, for people; ownership goes by the uid of kube-system.");
  table.text("controllers", options.controllers, group,
             "Controllers to run, comma-separated: * for all, NAME for one, -NAME for all but it.");
  table.text("kubeconfig", options.kubeconfig, group,
             "Path of a kubeconfig; empty means the in-cluster configuration.");
  table.text("master", options.master, group,
             "URL of the API server; overrides the one in the kubeconfig.");
  table.number("kube-api-qps", options.kube_api_qps, TokenBucket::kQpsMin, TokenBucket::kQpsMax,
               group, "Requests per second to the API server, watches and leases not counted.");
  table.integer("kube-api-burst", options.kube_api_burst, 1, kBurstMax, group,
                "How many of these requests may go at once.");
}

void add_leader_election(FlagTable& table, RunOptions& options) {
  const std::string group = "Leader election flags";
  table.boolean("leader-elect", options.leader_elect, group,
                "Elect one leader among several managers; only the leader acts.");
  table.positive_duration("leader-elect-lease-duration", options.leader_elect_lease_duration, group,
                          "How long others wait for a silent leader.");
  table.positive_duration("leader-elect-renew-deadline", options.leader_elect_renew_deadline, group,
                          "How long a leader tries to renew before it gives up.");
  table.positive_duration("leader-elect-retry-period", options.leader_elect_retry_period, group,
                          "Time between two tries.");
  table.text("leader-elect-resource-lock", options.leader_elect_resource_lock, group,
             "Kind of the lock; only leases exists.");
  table.text("leader-elect-resource-name", options.leader_elect_resource_name, group,
             "Name of the Lease.");
  table.text("leader-elect-resource-namespace", options.leader_elect_resource_namespace, group,
             "Namespace of the Lease.");
}

void add_node_controller(FlagTable& table, RunOptions& options) {
  const std::string group = "cloud-node-controller flags";
  table.integer("concurrent-node-syncs", options.concurrent_node_syncs, 1, kWorkersMax, group,
                "How many Nodes are worked on at once.");
  table.positive_duration("node-status-update-frequency", options.node_status_update_frequency,
                          group, "How often an initialized Node is compared with its machine.");
  table.text("node-match-order", options.node_match_order, group,
             "What finds a Node's machine, in order, comma-separated.");
  table.boolean("node-labels-refresh", options.node_labels_refresh, group,
                "Keep the labels of initialized Nodes as their machines have them.");
  table.boolean("node-ip-per-family", options.node_ip_per_family, group,
                "A kubelet's --node-ip drops other addresses of its own family only.");
}

void add_service_controller(FlagTable& table, RunOptions& options) {
  const std::string group = "service-lb-controller flags";
  table.integer("concurrent-service-syncs", options.concurrent_service_syncs, 1, kWorkersMax, group,
                "How many Services are worked on at once.");
  table.text("load-balancer-classes", options.load_balancer_classes, group,
             "Values of loadBalancerClass that are served, comma-separated; may be empty.");
  table.boolean("serve-unclassed-services", options.serve_unclassed_services, group,
                "Serve Services without a loadBalancerClass, too.");
  table.choice("lb-node-health", options.lb_node_health, {"auto", "kube-proxy", "kubelet"}, group,
               "What tells that a Node is well, for externalTrafficPolicy Cluster: kube-proxy's "
               "health port, the kubelet's port, or the former unless no Node answers there.");
  table.boolean("lb-target-sets", options.lb_target_sets, group,
                "Send a change of the Nodes once for all load balancers, where the cloud can.");
  table.positive_duration("load-balancer-drift-period", options.load_balancer_drift_period, group,
                          "How often a load balancer is compared with its Service though nothing "
                          "is known to have changed.");
  table.positive_duration("load-balancer-orphan-grace", options.load_balancer_orphan_grace, group,
                          "How long a load balancer without a Service is kept before it goes.");
}

void add_serving(FlagTable& table, RunOptions& options) {
  const std::string group = "Secure serving flags";
  table.text("bind-address", options.bind_address, group, "Address of the HTTPS server.");
  table.integer("secure-port", options.secure_port, 0, kPortMax, group,
                "Port of the HTTPS server with /healthz, /livez, /readyz and /metrics; 0: none.");
  table.text("tls-cert-file", options.tls_cert_file, group,
             "Path of the serving certificate; empty: one is generated.");
  table.text("tls-private-key-file", options.tls_private_key_file, group,
             "Path of its private key.");
}

void add_version(FlagTable& table, RunOptions& options) {
  std::string& version = options.version;
  table.add({.name = "version",
             .is_switch = true,
             .default_text = "false",
             .group = "Logs and misc flags",
             .help = "Print the version and exit; --version=raw prints all that is known.",
             .set = [&version](std::string_view value) -> Result<> {
               if (value != "true" && value != "false" && value != "raw") {
                 return fail(Outcome::invalid, "is not one of true, false, raw");
               }
               version = value;
               return {};
             }});
}

// The API server would answer 404 or 422 to anything else, for ever.
void require_name(std::string_view flag, const std::string& value, Mistakes& mistakes) {
  Result<> good = kube::check_dns_subdomain(value);
  if (!good) mistakes.add(flag, fmt::format("\"{}\": {}", value, good.error().message));
}

}  // namespace

FlagTable run_flags(RunOptions& options) {
  FlagTable table("isthmus run [flags]",
                  "Runs the cloud controller manager against a Kubernetes API server.");
  add_generic(table, options);
  add_leader_election(table, options);
  add_node_controller(table, options);
  add_service_controller(table, options);
  add_serving(table, options);
  add_logging_flags(table, options.logging_format, options.verbosity);
  add_version(table, options);
  return table;
}

void find_contradictions(const RunOptions& options, Mistakes& mistakes) {
  if (options.node_status_update_frequency < kRefreshMin) {
    mistakes.add("--node-status-update-frequency", "must be at least 1s");
  }
  if (options.cloud_provider.empty()) {
    mistakes.add("--cloud-provider", "is required, as in --cloud-provider=isthmus");
  }
  if (options.tls_cert_file.empty() != options.tls_private_key_file.empty()) {
    mistakes.add("--tls-cert-file and --tls-private-key-file", "give both or neither");
  }
  if (!options.leader_elect) return;
  if (options.leader_elect_resource_lock != "leases") {
    mistakes.add("--leader-elect-resource-lock",
                 fmt::format("\"{}\" is not leases", options.leader_elect_resource_lock));
  }
  require_name("--leader-elect-resource-name", options.leader_elect_resource_name, mistakes);
  require_name("--leader-elect-resource-namespace", options.leader_elect_resource_namespace,
               mistakes);
  if (options.leader_elect_lease_duration <= options.leader_elect_renew_deadline) {
    mistakes.add("--leader-elect-lease-duration",
                 "must be longer than --leader-elect-renew-deadline");
  }
  // A renewal must be tried again within the deadline, jitter (up to a fifth) included.
  if (options.leader_elect_renew_deadline * 5 <= options.leader_elect_retry_period * 6) {
    mistakes.add("--leader-elect-renew-deadline",
                 "must be longer than 1.2 x --leader-elect-retry-period");
  }
}

}  // namespace isthmus::app

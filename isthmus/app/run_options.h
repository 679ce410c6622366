// What `isthmus run` can be told: upstream's flag names and defaults, except where
// docs/reference/differences.md says why not.
#pragma once

#include <cstdint>
#include <string>

#include "isthmus/app/flags.h"
#include "isthmus/base/clock.h"

namespace isthmus::app {

struct RunOptions {
  std::string cloud_provider;
  std::string cloud_config;
  std::string cluster_name = "kubernetes";

  std::string controllers = "*";

  std::string kubeconfig;
  std::string master;
  // Ten times upstream's: its 20 and 30 make a thousand new nodes take minutes, and the API server
  // has had priority and fairness of its own for years.
  double kube_api_qps = 200;
  std::int64_t kube_api_burst = 400;

  bool leader_elect = true;
  Duration leader_elect_lease_duration = std::chrono::seconds(15);
  Duration leader_elect_renew_deadline = std::chrono::seconds(10);
  Duration leader_elect_retry_period = std::chrono::seconds(2);
  std::string leader_elect_resource_lock = "leases";
  std::string leader_elect_resource_name = "cloud-controller-manager";
  std::string leader_elect_resource_namespace = "kube-system";

  std::int64_t concurrent_node_syncs = 10;
  Duration node_status_update_frequency = std::chrono::minutes(5);
  std::string node_match_order = "providerID,systemUUID,name,InternalIP";
  bool node_labels_refresh = true;
  bool node_ip_per_family = false;

  std::int64_t concurrent_service_syncs = 10;
  std::string load_balancer_classes = "isthmus.dev/lb";
  bool serve_unclassed_services = true;
  std::string lb_node_health = "auto";
  bool lb_target_sets = true;
  Duration load_balancer_drift_period = std::chrono::minutes(20);
  Duration load_balancer_orphan_grace = std::chrono::minutes(10);

  std::string bind_address = "0.0.0.0";
  std::int64_t secure_port = 10258;
  std::string tls_cert_file;
  std::string tls_private_key_file;

  std::string logging_format = "text";
  std::int64_t verbosity = 0;
  std::string version = "false";
};

// The table that fills `options`, which outlives it.
FlagTable run_flags(RunOptions& options);

// What no single flag can know: missing and contradictory values, each naming its flags.
void find_contradictions(const RunOptions& options, Mistakes& mistakes);

}  // namespace isthmus::app

// What `isthmus run` can be told, group by group: upstream's flag names and defaults, except where
// docs/reference/differences.md says why not. Each group has a struct here and a file
// run_flags_<group>.cc with its rows of the table, its rules, and what it means to the controller
// it is for.
#pragma once

#include <cstdint>
#include <string>

#include "isthmus/app/feature_gates.h"
#include "isthmus/app/flags.h"
#include "isthmus/base/clock.h"
#include "isthmus/cloud/deletion_policy.h"

namespace isthmus::app {

struct GenericFlags {
  std::string config;  // Path of a file with values for any of these flags (run_config.h).
  std::string cloud_provider;
  std::string cloud_config;
  std::string cluster_name = "kubernetes";
  std::string controllers = "*";
  bool dry_run = false;
  std::string kubeconfig;
  std::string master;
  // Ten times upstream's: its 20 and 30 make a thousand new nodes take minutes, and the API server
  // has had priority and fairness of its own for years.
  double kube_api_qps = 200;
  std::int64_t kube_api_burst = 400;
  bool use_service_account_credentials = false;
  Duration controller_start_interval = {};
  FeatureGates feature_gates;
};

struct ElectionFlags {
  bool leader_elect = true;
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  std::string resource_lock = "leases";
  std::string resource_name = "cloud-controller-manager";
  std::string resource_namespace = "kube-system";
};

struct SafetyFlags {
  std::string config_map = "isthmus-safety";
};

struct MigrationFlags {
  bool enable_leader_migration = false;
  std::string leader_migration_config;
};

struct NodeFlags {
  std::int64_t concurrent_syncs = 10;
  Duration status_update_frequency = std::chrono::minutes(5);
  std::string match_order = "providerID,systemUUID,name,InternalIP";
  bool labels_refresh = true;
  bool ip_per_family = false;
};

struct LifecycleFlags {
  Duration monitor_period = std::chrono::seconds(5);
  std::int64_t concurrent_syncs = 10;
  bool out_of_service_taint = false;
  std::string deletion = "strict";
  cloud::DeletionPolicy policy;  // Its mode is what `deletion` says.
};

struct ServiceFlags {
  std::int64_t concurrent_syncs = 10;
  std::string load_balancer_classes = "isthmus.dev/lb";
  bool serve_unclassed = true;
  std::string node_health = "auto";
  bool target_sets = true;
  Duration drift_period = std::chrono::minutes(20);
  Duration orphan_grace = std::chrono::minutes(10);
};

struct RouteFlags {
  std::string cluster_cidr;
  bool configure_cloud_routes = true;
  Duration reconciliation_period = std::chrono::minutes(1);
};

// Of a port.
struct TlsFlags {
  std::string cert_file;
  std::string private_key_file;
  std::string cipher_suites;
  std::string curve_preferences;
  std::string min_version;
};

struct ServingFlags {
  std::string bind_address = "0.0.0.0";
  std::int64_t secure_port = 10258;
  std::string cert_dir;
  TlsFlags tls;
  bool permit_port_sharing = false;

  // Without effect.
  bool permit_address_sharing = false;
  bool disable_http2_serving = false;
  std::int64_t http2_max_streams_per_connection = 0;
};

struct AuthenticationFlags {
  std::string kubeconfig;
  bool skip_lookup = false;
  bool tolerate_lookup_failure = false;
  Duration token_cache_ttl = std::chrono::seconds(10);
  std::string client_ca_file;
};

struct AuthorizationFlags {
  std::string kubeconfig;
  std::string always_allow_paths = "/healthz,/readyz,/livez";
  Duration authorized_ttl = std::chrono::seconds(10);
  Duration unauthorized_ttl = std::chrono::seconds(10);
};

struct LogFlags {
  std::string format = "text";
  std::int64_t verbosity = 0;
  std::string version = "false";

  // Without effect: a line is written when it is made, whole, to standard error.
  Duration flush_frequency = std::chrono::seconds(5);
  std::string vmodule;
  bool text_split_stream = false;
  bool json_split_stream = false;
  std::string text_info_buffer_size = "0";
  std::string json_info_buffer_size = "0";
};

// Those that manifests have and that mean nothing here (run_flags_compatibility.cc says why), with
// upstream's defaults, for /configz.
struct CompatibilityFlags {
  bool allocate_node_cidrs = false;
  std::string cidr_allocator_type = "RangeAllocator";
  Duration node_sync_period = {};
  bool allow_untagged_cloud = false;
  std::string external_cloud_volume_plugin;
  Duration min_resync_period = std::chrono::hours(12);
  std::string kube_api_content_type = "application/json";
  std::int64_t concurrent_node_status_updates = 0;

  struct Webhooks {
    std::string names;
    std::string bind_address = "0.0.0.0";
    std::int64_t secure_port = 10260;
    std::string cert_dir;
    TlsFlags tls;
    std::string tls_sni_cert_key;
    bool disable_http2_serving = false;
  } webhooks;
};

// Those of which only the value that asks for nothing is taken.
struct RefusedFlags {
  bool profiling = false;
  bool contention_profiling = false;
  std::string tls_sni_cert_key;
  std::string requestheader_client_ca_file;
  std::string requestheader_allowed_names;
  std::string requestheader_username_headers = "x-remote-user";
  std::string requestheader_group_headers = "x-remote-group";
  std::string requestheader_extra_headers_prefix = "x-remote-extra-";
  std::string requestheader_uid_headers;
};

}  // namespace isthmus::app

#include "isthmus/app/component_config.h"

#include "isthmus/base/duration.h"
#include "isthmus/base/json.h"
#include "isthmus/base/text.h"

namespace isthmus::app {
namespace {

json::array words(const std::string& list) {
  json::array array;
  for (const std::string_view word : split(list, ',')) {
    if (!trimmed(word).empty()) array.emplace_back(trimmed(word));
  }
  return array;
}

json::object moved(const LeaderMigration& migration) {
  json::array leaders;
  for (const LeaderMigration::Leader& leader : migration.leaders) {
    leaders.push_back({{"Name", leader.controller}, {"Component", leader.component}});
  }
  return {{"LeaderName", migration.lease},
          {"ResourceLock", "leases"},
          {"ControllerLeaders", std::move(leaders)}};
}

json::object generic(const RunOptions& options, const std::optional<LeaderMigration>& migration) {
  const ElectionFlags& election = options.election;
  return {{"Port", 0},
          {"Address", options.serving.bind_address},
          {"MinResyncPeriod", format_duration(options.compatibility.min_resync_period)},
          {"ClientConnection",
           {{"Kubeconfig", options.generic.kubeconfig},
            {"AcceptContentTypes", ""},
            {"ContentType", "application/json"},
            {"QPS", options.generic.kube_api_qps},
            {"Burst", options.generic.kube_api_burst}}},
          {"ControllerStartInterval", format_duration(options.generic.controller_start_interval)},
          {"LeaderElection",
           {{"LeaderElect", election.leader_elect},
            {"LeaseDuration", format_duration(election.lease_duration)},
            {"RenewDeadline", format_duration(election.renew_deadline)},
            {"RetryPeriod", format_duration(election.retry_period)},
            {"ResourceLock", election.resource_lock},
            {"ResourceName", election.resource_name},
            {"ResourceNamespace", election.resource_namespace}}},
          {"Controllers", words(options.generic.controllers)},
          {"Debugging", {{"EnableProfiling", false}, {"EnableContentionProfiling", false}}},
          {"LeaderMigrationEnabled", options.migration.enable_leader_migration},
          {"LeaderMigration", migration ? moved(*migration)
                                        : json::object{{"LeaderName", ""},
                                                       {"ResourceLock", ""},
                                                       {"ControllerLeaders", nullptr}}}};
}

json::object shared(const RunOptions& options) {
  const CompatibilityFlags& compatibility = options.compatibility;
  return {{"CloudProvider",
           {{"Name", options.generic.cloud_provider},
            {"CloudConfigFile", options.generic.cloud_config}}},
          {"ExternalCloudVolumePlugin", compatibility.external_cloud_volume_plugin},
          {"UseServiceAccountCredentials", options.generic.use_service_account_credentials},
          {"AllowUntaggedCloud", compatibility.allow_untagged_cloud},
          {"RouteReconciliationPeriod", format_duration(options.route.reconciliation_period)},
          {"ClusterName", options.generic.cluster_name},
          {"ClusterCIDR", options.route.cluster_cidr},
          {"AllocateNodeCIDRs", compatibility.allocate_node_cidrs},
          {"CIDRAllocatorType", compatibility.cidr_allocator_type},
          {"ConfigureCloudRoutes", options.route.configure_cloud_routes},
          {"NodeSyncPeriod", format_duration(compatibility.node_sync_period)}};
}

}  // namespace

std::string component_config(const RunOptions& options,
                             const std::optional<LeaderMigration>& migration) {
  const json::array webhooks = words(options.compatibility.webhooks.names);
  const json::object config = {
      {"Generic", generic(options, migration)},
      {"KubeCloudShared", shared(options)},
      {"NodeController",
       {{"ConcurrentNodeSyncs", options.node.concurrent_syncs},
        {"ConcurrentNodeStatusUpdates", options.compatibility.concurrent_node_status_updates}}},
      {"NodeLifecycleController",
       {{"NodeMonitorPeriod", format_duration(options.lifecycle.monitor_period)},
        {"ConcurrentNodeLifecycleSyncs", options.lifecycle.concurrent_syncs}}},
      {"ServiceController", {{"ConcurrentServiceSyncs", options.service.concurrent_syncs}}},
      {"NodeStatusUpdateFrequency", format_duration(options.node.status_update_frequency)},
      {"Webhook", {{"Webhooks", webhooks.empty() ? json::value(nullptr) : json::value(webhooks)}}}};
  return json::serialize(json::object{{"cloudcontrollermanager.config.k8s.io", config}});
}

}  // namespace isthmus::app

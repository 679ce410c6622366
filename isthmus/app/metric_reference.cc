#include "isthmus/app/metric_reference.h"

#include <fmt/format.h>

#include <array>

namespace isthmus::app {
namespace {

constexpr std::array kManager{
    MetricLine{"cloud_node_lifecycle_controller_cloud_provider_calls_total", "counter",
               "operation, result", "Calls to the cloud by the node lifecycle controller."},
    MetricLine{"cloud_node_lifecycle_controller_monitor_nodes_duration_seconds", "histogram", "",
               "Duration of one round of questions about machines."},
    MetricLine{"isthmus_cloud_breaker_state", "gauge", "provider",
               "0 closed, 1 half open, 2 open: no calls pass."},
    MetricLine{"isthmus_cloud_call_duration_seconds", "histogram", "operation, provider",
               "How long a cloud took to answer."},
    MetricLine{"isthmus_cloud_calls_not_sent_total", "counter", "operation, provider",
               "Calls that were not sent: the breaker was open, or the gate too crowded."},
    MetricLine{"isthmus_cloud_calls_total", "counter", "operation, outcome, provider",
               "Calls to a cloud that were sent, by their outcome."},
    MetricLine{"isthmus_cloud_contradictions_total", "counter", "kind",
               "How often the cloud contradicted the cluster or itself, or said more to be gone at "
               "once than anybody should believe."},
    MetricLine{"isthmus_deletions_stopped", "gauge", "",
               "Whether nothing is deleted because the cloud contradicted the cluster or itself."},
    MetricLine{"isthmus_dry_run", "gauge", "", "Whether nothing is written, and only told."},
    MetricLine{"isthmus_events_total", "counter", "fate",
               "Number of events for people, by what became of them."},
    MetricLine{"isthmus_fields_parked_total", "counter", "controller",
               "Fields left to somebody else who kept writing over ours."},
    MetricLine{"isthmus_instance_cache_total", "counter", "result", "Questions about machines."},
    MetricLine{"isthmus_load_balancer_orphans", "gauge", "",
               "Load balancers of this cluster whose Service does not exist."},
    MetricLine{"isthmus_load_balancer_orphans_released_total", "counter", "",
               "Number of load balancers that were released as orphans."},
    MetricLine{"isthmus_load_balancer_releases_withheld", "gauge", "",
               "Load balancers without a Service that are kept because the API server may not know "
               "all Services."},
    MetricLine{"isthmus_load_balancer_repairs_total", "counter", "kind",
               "Number of times something that somebody had changed was put right."},
    MetricLine{"isthmus_load_balancers", "gauge", "state",
               "Services that have or want a load balancer, by how far it is."},
    MetricLine{"isthmus_load_balancers_contested_total", "counter", "",
               "Number of times a load balancer was left to somebody else who kept changing it."},
    MetricLine{"isthmus_loop_lag_seconds", "histogram", "",
               "How much later than asked for the event loop wakes somebody."},
    MetricLine{"isthmus_loop_turn_seconds", "histogram", "",
               "How long the event loop was busy without looking outside."},
    MetricLine{"isthmus_mutations_stopped", "gauge", "",
               "1: somebody has stopped all changes by the safety ConfigMap."},
    MetricLine{"isthmus_node_deletion_breakers", "gauge", "kind",
               "Latches that hold deletions of Nodes."},
    MetricLine{"isthmus_node_deletions_withheld", "gauge", "condition",
               "Nodes whose machines are said to be gone, by what they are kept for; one is "
               "counted under each."},
    MetricLine{"isthmus_node_out_of_service_taints_total", "counter", "action",
               "Out-of-service taints that were set on Nodes, and removed."},
    MetricLine{"isthmus_node_shutdown_taints_total", "counter", "action",
               "Shutdown taints that were set on Nodes, and removed."},
    MetricLine{"isthmus_node_syncs_total", "counter", "cause, result",
               "Runs of the node controller by what came of them."},
    MetricLine{"isthmus_nodes_deleted_total", "counter", "",
               "Nodes deleted because their machines are gone."},
    MetricLine{"isthmus_reconcile_total", "counter", "controller, outcome",
               "Number of runs of a controller for one object, by outcome."},
    MetricLine{
        "isthmus_route_removals_withheld", "gauge", "",
        "Routes without a Node that are kept because the Nodes we see may not be all there are."},
    MetricLine{"isthmus_routes", "gauge", "state",
               "Routes to the pods of Nodes, by how they stand."},
    MetricLine{"isthmus_routes_removed_total", "counter", "",
               "Number of routes taken away because no Node had them."},
    MetricLine{"isthmus_secure_port_requests_total", "counter", "result",
               "Requests to the secure port, by what became of them at its door."},
    MetricLine{"isthmus_service_first_call_seconds", "histogram", "",
               "From the news of a changed Service to the first call to the cloud for it."},
    MetricLine{"isthmus_serving_certificate_expiration_timestamp_seconds", "gauge", "",
               "When the certificate that is served ends."},
    MetricLine{"isthmus_target_removals_withheld", "gauge", "",
               "Targets of load balancers that are kept because the Nodes we see may not be all "
               "there are."},
    MetricLine{"isthmus_watch_lists_total", "counter", "resource",
               "Number of times all objects of a resource were asked for."},
    MetricLine{"isthmus_watch_unreadable_objects", "gauge", "resource",
               "Number of objects whose newest state could not be read."},
    MetricLine{"isthmus_watch_watches_total", "counter", "resource",
               "Number of times the changes of a resource were asked for."},
    MetricLine{"isthmus_workqueue_dropped_total", "counter", "name",
               "Number of adds dropped because the workqueue knew too many keys"},
    MetricLine{"isthmus_writes_not_sent_total", "counter", "rule",
               "Changes of Kubernetes or a cloud that were not sent, by what forbade them."},
    MetricLine{"kubernetes_build_info", "gauge",
               "build_date, compiler, git_commit, git_tree_state, git_version, go_version, major, "
               "minor, platform",
               "Always 1; the labels say which version this is, and for what it was built."},
    MetricLine{"kubernetes_healthcheck", "gauge", "name, type",
               "This metric records the result of a single healthcheck."},
    MetricLine{"kubernetes_healthchecks_total", "counter", "name, type, status",
               "This metric records the results of all healthcheck."},
    MetricLine{"leader_election_master_status", "gauge", "name",
               "Gauge of if the reporting system is master of the relevant lease, 0 indicates "
               "backup, 1 indicates master. 'name' is the string used to identify the lease."},
    MetricLine{"leader_election_slowpath_total", "counter", "name",
               "Total number of slow path exercised in renewing leader leases."},
    MetricLine{"node_controller_cloud_provider_taint_removal_delay_seconds", "histogram", "",
               "From the creation of a Node to the removal of its taint."},
    MetricLine{"node_controller_initial_node_sync_delay_seconds", "histogram", "",
               "From the creation of a Node to the end of its initialization."},
    MetricLine{"process_cpu_seconds_total", "counter", "",
               "Total user and system CPU time spent in seconds."},
    MetricLine{"process_max_fds", "gauge", "", "Maximum number of open file descriptors."},
    MetricLine{"process_resident_memory_bytes", "gauge", "", "Resident memory size in bytes."},
    MetricLine{"process_start_time_seconds", "gauge", "",
               "Start time of the process since unix epoch in seconds."},
    MetricLine{"process_virtual_memory_bytes", "gauge", "", "Virtual memory size in bytes."},
    MetricLine{"process_virtual_memory_max_bytes", "gauge", "",
               "Maximum amount of virtual memory available in bytes."},
    MetricLine{"rest_client_rate_limiter_duration_seconds", "histogram", "host, verb",
               "Client side rate limiter latency in seconds. Broken down by verb, and host."},
    MetricLine{"rest_client_request_duration_seconds", "histogram", "host, verb",
               "Request latency in seconds. Broken down by verb, and host."},
    MetricLine{"rest_client_request_size_bytes", "histogram", "host, verb",
               "Request size in bytes. Broken down by verb and host."},
    MetricLine{"rest_client_requests_total", "counter", "code, host, method",
               "Number of HTTP requests, partitioned by status code, method, and host."},
    MetricLine{"rest_client_response_size_bytes", "histogram", "host, verb",
               "Response size in bytes. Broken down by verb and host."},
    MetricLine{"route_controller_route_sync_total", "counter", "outcome, trigger",
               "Number of comparisons of all routes with the Nodes."},
    MetricLine{"running_managed_controllers", "gauge", "manager, name",
               "Whether a controller of this manager runs."},
    MetricLine{"service_controller_loadbalancer_sync_total", "counter", "",
               "Number of calls to ensure or release a load balancer."},
    MetricLine{"service_controller_nodesync_error_total", "counter", "",
               "Number of failed attempts to tell the cloud about changed Nodes."},
    MetricLine{
        "service_controller_nodesync_latency_seconds", "histogram", "",
        "From a change of the Nodes to the moment at which the cloud has it in the shared set."},
    MetricLine{"service_controller_update_loadbalancer_host_latency_seconds", "histogram", "",
               "How long the cloud took to accept changed Nodes."},
    MetricLine{"workqueue_adds_total", "counter", "name",
               "Total number of adds handled by workqueue"},
    MetricLine{"workqueue_depth", "gauge", "name", "Current depth of workqueue"},
    MetricLine{"workqueue_longest_running_processor_seconds", "gauge", "name",
               "How many seconds the longest running processor of workqueue has been running"},
    MetricLine{"workqueue_queue_duration_seconds", "histogram", "name",
               "How long in seconds an item stays in workqueue before being requested"},
    MetricLine{"workqueue_retries_total", "counter", "name",
               "Total number of retries handled by workqueue"},
    MetricLine{"workqueue_unfinished_work_seconds", "gauge", "name",
               "How many seconds of work is in progress and has not been observed by "
               "work_duration; large values indicate stuck workers"},
    MetricLine{"workqueue_work_duration_seconds", "histogram", "name",
               "How long in seconds processing an item from workqueue takes"},
};

constexpr std::array kBackend{
    MetricLine{"infra_config_last_load_timestamp_seconds", "gauge", "",
               "When the configuration file was last loaded without a mistake."},
    MetricLine{"infra_config_loads_total", "counter", "result",
               "How often the configuration file was loaded, by result."},
    MetricLine{"infra_config_mistakes", "gauge", "",
               "Mistakes in the configuration file as it is now."},
    MetricLine{"infra_config_restart_needed", "gauge", "",
               "Keys of the configuration file that differ from what runs and need a restart."},
    MetricLine{"infra_convergence_duration_seconds", "histogram", "",
               "From when a generation of a load balancer was seen until it was programmed."},
    MetricLine{"infra_drift_repairs_total", "counter", "kind",
               "What others changed of ours on this host, by kind."},
    MetricLine{"infra_generation_lag", "gauge", "",
               "Load balancers of which this host holds no or an older generation."},
    MetricLine{"infra_health_check_lateness_seconds", "histogram", "",
               "How much later than planned health checks begin."},
    MetricLine{"infra_health_checks", "gauge", "kind, result",
               "Different health checks that are made."},
    MetricLine{"infra_health_checks_made_total", "counter", "kind, result",
               "Health checks that have ended, by how."},
    MetricLine{"infra_health_checks_unhealthy", "gauge", "",
               "Health checks whose target is unhealthy."},
    MetricLine{"infra_health_checks_waiting", "gauge", "",
               "Health checks that are due and held back by a limit of ours."},
    MetricLine{"infra_http_requests_total", "counter", "code, operation",
               "Requests answered, by operation and status."},
    MetricLine{"infra_instances", "gauge", "presence",
               "Machines ever known, by presence; absent ones are retired."},
    MetricLine{"infra_inventory_last_load_timestamp_seconds", "gauge", "",
               "When the inventory was last loaded without a mistake."},
    MetricLine{"infra_inventory_loads_total", "counter", "result",
               "How often the inventory was loaded, by result."},
    MetricLine{"infra_inventory_mistakes", "gauge", "", "Mistakes in the inventory as it is now."},
    MetricLine{"infra_load_balancers", "gauge", "condition",
               "Load balancers by condition that is True."},
    MetricLine{"infra_load_balancers_lagging", "gauge", "",
               "Load balancers whose present generation the host does not hold yet."},
    MetricLine{"infra_load_balancers_leaving", "gauge", "",
               "Load balancers whose deletion is requested."},
    MetricLine{"infra_orphan_routes", "gauge", "",
               "Routes of ours in the kernel that no route table names."},
    MetricLine{"infra_orphans", "gauge", "",
               "Load balancers that the kernel holds and the store does not know."},
    MetricLine{"infra_pool_addresses", "gauge", "family, pool, state",
               "Addresses of a pool by family and state."},
    MetricLine{"infra_reconcile_duration_seconds", "histogram", "",
               "How long a pass over what was due took."},
    MetricLine{"infra_revision", "gauge", "",
               "The store's revision when the machines were last read."},
    MetricLine{
        "infra_route_convergence_duration_seconds", "histogram", "",
        "From when a generation of a route table was seen until all its routes were applied."},
    MetricLine{"infra_route_tables", "gauge", "", "Route tables that stand."},
    MetricLine{"infra_routes", "gauge", "state", "Routes of route tables by state."},
    MetricLine{"infra_store_call_duration_seconds", "histogram", "call",
               "How long calls of the store blocked the program."},
    MetricLine{"infra_waits", "gauge", "", "Requests that wait for a load balancer's condition."},
    MetricLine{"infra_watch_events_total", "counter", "", "Events sent to watches."},
    MetricLine{"infra_watches", "gauge", "", "Open watches."},
    MetricLine{"infra_writes_total", "counter", "kind, verb",
               "Writes carried out, by kind of object and verb."},
    MetricLine{"isthmus_announcements_total", "counter", "result",
               "Announcements of addresses on the link, by result."},
    MetricLine{"isthmus_serving_certificate_expiration_timestamp_seconds", "gauge", "",
               "When the certificate that is served ends."},
};

constexpr std::string_view kIntroduction =
    "# Metrics\n\n"
    "<!-- Made by `isthmus reference metrics` from isthmus/app/metric_reference.cc. -->\n\n"
    "What `isthmus run` serves at `/metrics` on the secure port, and `isthmus infra` at `/metrics` "
    "of\n"
    "each of its addresses, for Prometheus. Names that do not begin with `isthmus_` or `infra_` "
    "are\n"
    "those of Kubernetes' own cloud controller manager, and mean the same. A histogram has "
    "`_bucket`,\n"
    "`_sum` and `_count`.\n";

std::string section(std::string_view title, std::span<const MetricLine> lines) {
  std::string text =
      fmt::format("\n## {}\n\n| Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n", title);
  for (const MetricLine& line : lines) {
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", line.name, line.kind, line.labels, line.meaning);
  }
  return text;
}

}  // namespace

std::span<const MetricLine> manager_metrics() { return kManager; }
std::span<const MetricLine> backend_metrics() { return kBackend; }

std::string metric_reference() {
  return std::string(kIntroduction) + section("The manager", kManager) +
         section("The backend", kBackend) +
         "\nBesides these it has the `process_` metrics of the manager.\n";
}

}  // namespace isthmus::app

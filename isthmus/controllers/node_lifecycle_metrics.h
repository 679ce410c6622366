// What is counted about Nodes whose machines are stopped or gone.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "isthmus/base/metrics.h"
#include "isthmus/cloud/deletion_verdict.h"
#include "isthmus/cloud/witness.h"

namespace isthmus::controllers {

// A resource.
class NodeLifecycleMetrics final {
 public:
  explicit NodeLifecycleMetrics(Metrics& metrics)
      : deleted(metrics.counter("isthmus_nodes_deleted_total",
                                "Nodes deleted because their machines are gone.")),
        round_duration(
            metrics.histogram("cloud_node_lifecycle_controller_monitor_nodes_duration_seconds",
                              "Duration of one round of questions about machines.",
                              exponential_buckets(0.001, 2, 15))),  // 1 ms to 16 s, as upstream.
        stopped(metrics.gauge("isthmus_deletions_stopped",
                              "Whether nothing is deleted because the cloud contradicted the "
                              "cluster or itself.")),
        metrics_(metrics) {
    for (const cloud::Condition each : cloud::all_conditions()) withheld(each).set(0);
    for (const std::string_view kind : {"cluster", "zone", "last_ready"}) breakers(kind).set(0);
    for (const cloud::Lie each :
         {cloud::Lie::heartbeat, cloud::Lie::itself, cloud::Lie::mass_absence}) {
      contradictions(each).add(0);
    }
    for (const std::string_view action : {"set", "removed"}) shutdown_taints(action).add(0);
  }

  Gauge& withheld(cloud::Condition condition) {
    return metrics_.gauge("isthmus_node_deletions_withheld",
                          "Nodes whose machines are said to be gone, by what they are kept for; "
                          "one is counted under each.",
                          {{"condition", std::string(to_string(condition))}});
  }
  Counter& contradictions(cloud::Lie lie) {
    return metrics_.counter("isthmus_cloud_contradictions_total",
                            "How often the cloud contradicted the cluster or itself, or said more "
                            "to be gone at once than anybody should believe.",
                            {{"kind", std::string(to_string(lie))}});
  }
  Gauge& breakers(std::string_view kind) {
    return metrics_.gauge("isthmus_node_deletion_breakers", "Latches that hold deletions of Nodes.",
                          {{"kind", std::string(kind)}});
  }
  Counter& shutdown_taints(std::string_view action) {
    return metrics_.counter("isthmus_node_shutdown_taints_total",
                            "Shutdown taints that were set on Nodes, and removed.",
                            {{"action", std::string(action)}});
  }
  Counter& out_of_service_taints(std::string_view action) {
    return metrics_.counter("isthmus_node_out_of_service_taints_total",
                            "Out-of-service taints that were set on Nodes, and removed.",
                            {{"action", std::string(action)}});
  }

  Counter& deleted;
  Histogram& round_duration;
  Gauge& stopped;

 private:
  Metrics& metrics_;
};

}  // namespace isthmus::controllers

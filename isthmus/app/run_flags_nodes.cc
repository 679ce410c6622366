
#include "isthmus/app/run_flags_impl.h"

namespace isthmus::app {
namespace {

// A thousand Nodes compared every second are a thousand looks at the cache; below that lies waste.
constexpr Duration kRefreshMin = std::chrono::seconds(1);

}  // namespace

void add_node_flags(FlagTable& table, NodeFlags& flags) {
  const std::string group = "cloud-node-controller flags";
  table.integer("concurrent-node-syncs", flags.concurrent_syncs, 1, kWorkersMax, group,
                "How many Nodes are worked on at once.");
  table.positive_duration("node-status-update-frequency", flags.status_update_frequency, group,
                          "How often an initialized Node is compared with its machine.");
  table
      .text("node-match-order", flags.match_order, group,
            "What finds a Node's machine, in order, comma-separated.")
      .composite = Flag::Composite::list;
  table.boolean("node-labels-refresh", flags.labels_refresh, group,
                "Keep the labels of initialized Nodes as their machines have them.");
  table.boolean("node-ip-per-family", flags.ip_per_family, group,
                "A kubelet's --node-ip drops other addresses of its own family only.");
}

void check_node_flags(const NodeFlags& flags, Mistakes& mistakes) {
  if (flags.status_update_frequency < kRefreshMin) {
    mistakes.add("--node-status-update-frequency", "must be at least 1s");
  }
}

controllers::NodeControllerOptions node_options(const NodeFlags& flags, Mistakes& mistakes) {
  controllers::NodeControllerOptions node;
  Result<std::vector<controllers::MatchBy>> order =
      controllers::parse_match_order(flags.match_order);
  if (order) {
    node.plan.match_order = std::move(*order);
  } else {
    mistakes.add("--node-match-order", order.error().message);
  }
  node.plan.refresh_labels = flags.labels_refresh;
  node.plan.node_ip_filter = flags.ip_per_family ? controllers::NodeIpFilter::per_family
                                                 : controllers::NodeIpFilter::whole_type;
  node.refresh_every = flags.status_update_frequency;
  return node;
}

}  // namespace isthmus::app

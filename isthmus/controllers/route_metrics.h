// What is counted about routes.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/metrics.h"
#include "isthmus/controllers/route_book.h"
#include "isthmus/controllers/route_plan.h"

namespace isthmus::controllers {

// A resource; the book and the plan outlive it.
class RouteMetrics final {
 public:
  RouteMetrics(Metrics& metrics, const RouteBook& book, const RoutePlan& plan)
      : removed(metrics.counter("isthmus_routes_removed_total",
                                "Number of routes taken away because no Node had them.")),
        withheld(metrics.gauge("isthmus_route_removals_withheld",
                               "Routes without a Node that are kept because the Nodes we see may "
                               "not be all there are.")),
        metrics_(metrics),
        book_(book),
        plan_(plan),
        collect_(metrics, [this] { refresh(); }) {}

  // `outcome`: changed, noop, error. `trigger`: node_change, periodic.
  void count_sync(std::string_view outcome, std::string_view trigger) {
    metrics_
        .counter("route_controller_route_sync_total",
                 "Number of comparisons of all routes with the Nodes.",
                 {{"outcome", std::string(outcome)}, {"trigger", std::string(trigger)}})
        .add();
  }

  Counter& removed;
  Gauge& withheld;

 private:
  void refresh() {
    using Standing = cloud::RouteState::Standing;
    std::map<std::string_view, std::size_t> count{
        {"applied", 0}, {"pending", 0}, {"conflict", 0}, {"refused", 0}, {"missing", 0}};
    for (const PlannedRoute& planned : plan_.routes) {
      const cloud::RouteState* state = book_.find(planned.route.destination);
      const bool is_there = state != nullptr && (is_about(*state, planned.route) ||
                                                 state->standing != Standing::applied);
      ++count[is_there ? to_string(state->standing) : "missing"];
    }
    count["ownerless"] = plan_.ownerless.size();
    for (const auto& [state, routes] : count) {
      metrics_
          .gauge("isthmus_routes", "Routes to the pods of Nodes, by how they stand.",
                 {{"state", std::string(state)}})
          .set(static_cast<double>(routes));
    }
  }

  Metrics& metrics_;
  const RouteBook& book_;
  const RoutePlan& plan_;
  Metrics::OnCollect collect_;
};

}  // namespace isthmus::controllers

// What is counted about Services and their load balancers.
#pragma once

#include "isthmus/base/metrics.h"
#include "isthmus/controllers/service_book.h"

namespace isthmus::controllers {

// A resource; the book outlives it.
class ServiceMetrics final {
 public:
  ServiceMetrics(Metrics& metrics, const ServiceBook& book,
                 const std::set<kube::ObjectKey>& refused)
      : syncs(metrics.counter("service_controller_loadbalancer_sync_total",
                              "Number of calls to ensure or release a load balancer.")),
        repaired(repairs(metrics, "repaired")),
        recreated(repairs(metrics, "recreated")),
        changed(repairs(metrics, "changed")),
        contested(metrics.counter("isthmus_load_balancers_contested_total",
                                  "Number of times a load balancer was left to somebody else who "
                                  "kept changing it.")),
        first_call(metrics.histogram(
            "isthmus_service_first_call_seconds",
            "From the news of a changed Service to the first call to the cloud for it.",
            exponential_buckets(0.0009765625, 2, 16))),  // 1 ms to 32 s.
        ready_(balancers(metrics, "ready")),
        pending_(balancers(metrics, "pending")),
        refused_(balancers(metrics, "refused")),
        failing_(balancers(metrics, "failing")),
        collect_(metrics, [this, &book, &refused] { refresh(book, refused.size()); }) {}

  Counter& syncs;
  Counter& repaired;   // By the cloud.
  Counter& recreated;  // By us, after it had vanished.
  Counter& changed;    // By us, after somebody had asked for something else.
  Counter& contested;  // Left to them, after they had done so again and again.
  Histogram& first_call;

 private:
  static Counter& repairs(Metrics& metrics, std::string kind) {
    return metrics.counter("isthmus_load_balancer_repairs_total",
                           "Number of times something that somebody had changed was put right.",
                           {{"kind", std::move(kind)}});
  }
  static Gauge& balancers(Metrics& metrics, std::string state) {
    return metrics.gauge("isthmus_load_balancers",
                         "Services that have or want a load balancer, by how far it is.",
                         {{"state", std::move(state)}});
  }

  void refresh(const ServiceBook& book, std::size_t refused_by_plan) {
    std::size_t ready = 0;
    std::size_t pending = 0;
    std::size_t refused = refused_by_plan;
    std::size_t failing = 0;
    for (const auto& [name, record] : book.all()) {
      const bool stands = record.state && record.state->settled && !record.releasing;
      const bool is_refused = record.trouble == ServiceRecord::Trouble::refused;
      const bool is_failing = record.trouble == ServiceRecord::Trouble::failing;
      ++(is_refused ? refused : is_failing ? failing : stands ? ready : pending);
    }
    ready_.set(static_cast<double>(ready));
    pending_.set(static_cast<double>(pending));
    refused_.set(static_cast<double>(refused));
    failing_.set(static_cast<double>(failing));
  }

  Gauge& ready_;
  Gauge& pending_;
  Gauge& refused_;
  Gauge& failing_;
  Metrics::OnCollect collect_;
};

}  // namespace isthmus::controllers

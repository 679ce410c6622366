#include "isthmus/app/health_slis.h"

#include <utility>

namespace isthmus::app {

HealthSlis::HealthSlis(std::function<double()> process_start)
    : process_start_(std::move(process_start)) {
  reset();
}

void HealthSlis::observe(std::string_view check, std::string_view type, bool ok) {
  const Metrics::Labels labels{{"name", std::string(check)}, {"type", std::string(type)}};
  metrics_
      ->gauge("kubernetes_healthcheck", "This metric records the result of a single healthcheck.",
              labels)
      .set(ok ? 1 : 0);
  Metrics::Labels with_status = labels;
  with_status.emplace_back("status", ok ? "success" : "error");
  metrics_
      ->counter("kubernetes_healthchecks_total",
                "This metric records the results of all healthcheck.", std::move(with_status))
      .add();
}

std::string HealthSlis::text() {
  metrics_
      ->gauge("process_start_time_seconds",
              "Start time of the process since unix epoch in seconds.")
      .set(process_start_());
  return metrics_->text();
}

void HealthSlis::reset() { metrics_ = std::make_unique<Metrics>(); }

}  // namespace isthmus::app

// Service level indicators of health checks, as every Kubernetes component serves them under
// /metrics/slis: how each check ended last, and how often it ended how.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "isthmus/base/metrics.h"

namespace isthmus::app {

// A resource.
class HealthSlis final {
 public:
  // `process_start` answers since when the process runs, in seconds since 1970.
  explicit HealthSlis(std::function<double()> process_start);

  // A check was run for one of healthz, livez and readyz.
  void observe(std::string_view check, std::string_view type, bool ok);

  // In Prometheus' text format.
  std::string text();

  // Forgets what was observed.
  void reset();

 private:
  const std::function<double()> process_start_;
  std::unique_ptr<Metrics> metrics_;
};

}  // namespace isthmus::app

// What the secure port answers: the probes (health.h), /metrics, /metrics/slis, /configz, /version.
// Everything else is 404. Who may ask is not decided here (guarded_handler.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/health.h"
#include "isthmus/app/health_slis.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/net/http_server.h"

namespace isthmus::app {

// Where the answers come from. The functions answer at once.
struct EndpointSources {
  std::vector<HealthCheck> checks;
  std::function<std::string()> config;    // The configuration in force, as a JSON text.
  std::function<double()> process_start;  // In seconds since 1970.
};

// Everything it is given outlives it.
class OperatorEndpoints final : public net::HttpHandler {
 public:
  OperatorEndpoints(EndpointSources sources, Metrics& metrics, Logger& logger);

  Task<Result<>> serve(net::Request request, net::Peer peer, net::ResponseWriter& writer) override;

 private:
  net::Response answer(const net::Request& request);
  net::Response answer_get(const net::Target& target);

  const std::function<std::string()> config_;
  Metrics& metrics_;
  HealthSlis slis_;
  HealthChecks health_;
};

}  // namespace isthmus::app

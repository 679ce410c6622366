// What the secure port answers: /healthz, /livez, /readyz with their single checks, and /metrics.
//
// Answers are those of a Kubernetes component: "ok", or with ?verbose a line per check, or 500 with
// that list when a check fails. ?exclude=NAME (repeatable) leaves a check out, and
// /livez/NAME asks for one alone. A reason is never shown, since anyone may ask; it is in the log,
// once for each time a check begins to fail, however often it is asked meanwhile.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/result.h"
#include "isthmus/net/http_server.h"

namespace isthmus::app {

// Where a check counts. Liveness failing means "restart me", readiness "do not count on me".
enum class Probe { liveness, readiness };

struct HealthCheck {
  std::string name;
  Probe probe = Probe::liveness;  // /healthz asks the liveness checks too.
  std::function<Result<>()> run;  // Answers at once, from what is known.
};

// The answer of one probe to one target, as a plain function of the checks' outcomes.
struct CheckOutcome {
  std::string name;
  bool ok = true;
};
net::Response probe_response(std::string_view probe_path, const net::Target& target,
                             const std::vector<CheckOutcome>& outcomes);

// Serves the endpoints. Everything it is given outlives it.
class OperatorEndpoints final : public net::HttpHandler {
 public:
  OperatorEndpoints(Metrics& metrics, Logger& logger, std::vector<HealthCheck> checks);

  // /metrics is answered to callers on this machine only, as long as callers cannot authenticate:
  // it names machines. Others get 403 and the reason.
  Task<Result<>> serve(net::Request request, net::Peer peer, net::ResponseWriter& writer) override;

 private:
  net::Response answer(const net::Request& request, const net::Peer& peer);
  std::vector<CheckOutcome> run_checks(Probe probe);
  void tell(const std::string& check, const Result<>& result);

  Metrics& metrics_;
  Logger& logger_;
  std::vector<HealthCheck> checks_;
  std::set<std::string, std::less<>> failing_;  // Those whose failure was told.
};

}  // namespace isthmus::app

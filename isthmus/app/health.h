// The health checks of the secure port: /healthz, /livez, /readyz and their single checks.
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

#include "isthmus/app/health_slis.h"
#include "isthmus/base/log.h"
#include "isthmus/base/result.h"
#include "isthmus/net/http.h"

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

// A resource; what it is given outlives it.
class HealthChecks final {
 public:
  HealthChecks(std::vector<HealthCheck> checks, HealthSlis& slis, Logger& logger);

  // Whether the path is that of a probe or of one of its checks.
  static bool serves(std::string_view path);

  // Runs the checks that the target asks for.
  net::Response answer(const net::Target& target);

 private:
  std::vector<CheckOutcome> run(Probe probe, std::string_view type);
  void tell(const std::string& check, const Result<>& result);

  const std::vector<HealthCheck> checks_;
  HealthSlis& slis_;
  Logger& logger_;
  std::set<std::string, std::less<>> failing_;  // Those whose failure was told.
};

}  // namespace isthmus::app

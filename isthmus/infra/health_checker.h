// Health checks of our own: whether the machines behind the load balancers answer.
//
// Checks that are equal in address, port, kind, path and timing are made once per host, however
// many load balancers use them. A check runs every interval, counted from its first, so that it
// never drifts; its timeout bounds the whole answer. `rise` good ones in a row make a target
// healthy, `fall` bad ones unhealthy; until then the last verdict stands, and a target that was
// never judged is unknown, which counts as usable.
//
// A single new check is made at once; of many that are new the first ones are spread by chance over
// a millisecond each, at most over their interval, and so they stay spread.
//
// What a check waits never delays another, within HealthCheckLimits. Where a limit holds checks
// back they are made late, which infra_health_check_lateness_seconds and
// infra_health_checks_waiting show; a target never fails because we were busy. Targets that let
// their last check run into its timeout share half the places, so that dead ones, however many,
// keep nobody from being asked in time who would answer.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/loop.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/random.h"
#include "isthmus/base/result.h"
#include "isthmus/base/signal.h"
#include "isthmus/base/task.h"
#include "isthmus/infra/api/load_balancer.h"
#include "isthmus/net/probe.h"

namespace isthmus::infra {

// One check; its `how.port` is always the one that is asked.
struct Check {
  IpAddress address;
  api::HealthCheck how;

  friend auto operator<=>(const Check&, const Check&) = default;
};

struct Verdict {
  api::Health health = api::Health::unknown;
  std::string reason;  // Why it is unhealthy.

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

struct HealthCheckLimits {
  // Checks under way, each with a descriptor. A quarter of the 1,024 that a process usually may
  // open, which leaves the others to the server and the store. 10,000 targets every 5 s that answer
  // within 10 ms need 20 places; 64 silent ones a second fill one half for their 2 s. The program
  // sets more where more descriptors may be opened (net/posix_prober.h).
  std::size_t under_way_max = 256;

  // Checks begun in a second. At some 50 µs each, 8,000 are 40 % of the one core that also answers
  // the API; 10,000 targets every 5 s are 2,000.
  double per_second_max = 8000;
};

// A resource; the loop, the prober, the random source and the metrics outlive it.
class HealthChecker {
 public:
  HealthChecker(Loop& loop, net::Prober& prober, Random& random, Metrics& metrics,
                HealthCheckLimits limits = {});
  ~HealthChecker();

  // What this user (a load balancer, say) wants to be checked from now on, in place of what it
  // wanted before; no checks: the user is forgotten. New ones begin, those that nobody wants any
  // more end at once, also while they are under way, and their verdicts are forgotten; all others
  // go on undisturbed. May be called at any time, also before and after run(). Costs a look-up per
  // check, and no IO. A check given twice counts once.
  void want(const std::string& user, const std::vector<Check>& checks);

  // Of a check that somebody wants; unknown for any other.
  Verdict verdict(const Check& check) const;

  // What was known before this program began: a target that was unhealthy then does not become
  // usable because we have started anew. It stands until `rise` good answers say otherwise, and
  // counts as no change. Without effect on a check that was judged or that nobody wants.
  void assume_unhealthy(const Check& check, const std::string& reason);

  // Set when a verdict's health has changed, within 10 ms, so that targets that fail together are
  // told together; cleared by take_changed().
  Signal& changed();

  // The users for whom some health has changed since the last call, each once, in order. A user
  // that has just begun to want a check is told of later changes only.
  std::vector<std::string> take_changed();

  // Makes the checks until its scope ends; answers cancelled or deadline, as that says, and has
  // left nothing under way. Called once at a time.
  Task<Result<>> run();

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace isthmus::infra

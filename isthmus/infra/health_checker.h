// Health checks of our own: whether the machines behind the load balancers answer.
//
// Checks that are equal in address, port, kind, path and timing are made once per host, however
// many load balancers use them. A check runs every interval, the first of each spread over one, and
// what it waits never delays another; it is complete only with a whole answer in time. `rise` good
// ones in a row make a target healthy, `fall` bad ones unhealthy; until then the last verdict
// stands, and a target that was never judged is unknown, which counts as usable.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "isthmus/base/ip.h"
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

// The prober, the random source and the metrics outlive it.
class HealthChecker {
 public:
  HealthChecker(net::Prober& prober, Random& random, Metrics& metrics);
  ~HealthChecker();

  // The checks there should be: new ones begin, those that are not named end, the others go on
  // undisturbed. Takes effect in run().
  void want(std::set<Check> checks);

  // Of a check that is wanted; unknown for any other.
  Verdict verdict(const Check& check) const;

  // Set when a verdict's health changed; who reads it clears it.
  Signal& changed();

  // Makes the checks until its scope ends.
  Task<Result<>> run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace isthmus::infra

// Backoff: how long to wait before the next attempt of one thing that keeps failing.
#pragma once

#include "isthmus/base/clock.h"
#include "isthmus/base/random.h"

namespace isthmus {

// Where in relation to the exponential delay d the next attempt falls. Without jitter, all who
// failed together would come back together.
enum class Jitter {
  full,   // [0, d]: spreads best; an attempt may follow at once.
  half,   // [d/2, d]: never at once.
  added,  // [d, 2d]: as Kubernetes' reflectors do.
};

struct BackoffPolicy {
  Duration start = std::chrono::seconds(1);
  Duration cap = std::chrono::minutes(2);  // Of d, before jitter.
  Jitter jitter = Jitter::full;
};

// The delay after so many failures before this one: start doubled that often, capped, jittered.
Duration backoff_delay(const BackoffPolicy& policy, unsigned failures, Random& random);

// Counts the failures of one thing, and forgets them when it was quiet for long enough.
class Backoff {
 public:
  // `quiet`: when next() was not asked for this long, it starts again.
  Backoff(const Clock& clock, Random& random, BackoffPolicy policy, Duration quiet)
      : clock_(clock), random_(random), policy_(policy), quiet_(quiet) {}

  // One more failure: how long to wait now.
  Duration next();

  // It worked: the next failure waits from the start.
  void reset() { failures_ = 0; }

  unsigned failures() const { return failures_; }

 private:
  const Clock& clock_;
  Random& random_;
  const BackoffPolicy policy_;
  const Duration quiet_;
  unsigned failures_ = 0;
  Moment last_{};
};

}  // namespace isthmus

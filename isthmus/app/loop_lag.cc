#include "isthmus/app/loop_lag.h"

#include "isthmus/base/scope.h"

namespace isthmus::app {

LoopLag::LoopLag(const Clock& clock, Metrics& metrics)
    : clock_(clock),
      lag_(metrics.histogram("isthmus_loop_lag_seconds",
                             "How much later than asked for the event loop wakes somebody.",
                             exponential_buckets(0.001, 4, 8))) {}

Task<Result<>> LoopLag::run() {
  for (;;) {
    const Moment due = clock_.now() + kTick;
    CO_TRY(co_await sleep_until(due));
    const Duration late = clock_.now() - due;
    lag_.observe(late);
    late_ticks_ = late > kLagMax ? late_ticks_ + 1 : 0;
  }
}

Result<> LoopLag::check() const {
  if (late_ticks_ < kLateTicksMax) return {};
  return fail(Outcome::busy, "the event loop does not keep up");
}

}  // namespace isthmus::app

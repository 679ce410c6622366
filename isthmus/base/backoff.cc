#include "isthmus/base/backoff.h"

#include "isthmus/base/result.h"

namespace isthmus {

Duration backoff_delay(const BackoffPolicy& policy, unsigned failures, Random& random) {
  ISTHMUS_ASSERT(policy.start > Duration::zero() && policy.start <= policy.cap,
                 "a backoff starts above zero and below its cap");
  Duration delay = policy.start;
  for (; failures > 0 && delay < policy.cap; --failures) {
    delay = delay > policy.cap / 2 ? policy.cap : delay * 2;
  }
  switch (policy.jitter) {
    case Jitter::full:
      return random.between(Duration::zero(), delay);
    case Jitter::half:
      return random.between(delay / 2, delay);
    case Jitter::added:
      return random.between(delay, delay * 2);
  }
  ISTHMUS_ASSERT(false, "a jitter that has no rule");
}

Duration Backoff::next() {
  const Moment now = clock_.now();
  if (failures_ > 0 && now - last_ > quiet_) failures_ = 0;
  last_ = now;
  const Duration delay = backoff_delay(policy_, failures_, random_);
  ++failures_;
  return delay;
}

}  // namespace isthmus

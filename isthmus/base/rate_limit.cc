#include "isthmus/base/rate_limit.h"

#include <algorithm>

namespace isthmus {
namespace {

Duration interval_of(double qps) {
  ISTHMUS_ASSERT(qps >= TokenBucket::kQpsMin && qps <= TokenBucket::kQpsMax,
                 "a rate that no bucket keeps");
  return Duration(static_cast<Duration::rep>(1e9 / qps));
}

}  // namespace

TokenBucket::TokenBucket(Loop& loop, double qps, unsigned burst)
    : loop_(loop),
      interval_(interval_of(qps)),
      tolerance_(interval_ * (static_cast<Duration::rep>(burst) - 1)),
      full_at_(loop.now()) {
  ISTHMUS_ASSERT(burst > 0 && burst <= 1'000'000, "a bucket holds from one to a million tokens");
}

TokenBucket::~TokenBucket() { loop_.disarm(*this); }

bool TokenBucket::try_take() { return waiters_.empty() && grab(); }

Moment TokenBucket::next_at() const {
  const Moment after_those = full_at_ + interval_ * static_cast<Duration::rep>(waiting_);
  return std::max(loop_.now(), after_those - tolerance_);
}

bool TokenBucket::grab() {
  const Moment from = std::max(loop_.now(), full_at_);
  if (from - loop_.now() > tolerance_) return false;
  full_at_ = from + interval_;
  return true;
}

void TokenBucket::give_back() {
  full_at_ -= interval_;
  serve();
}

void TokenBucket::serve() {
  while (!waiters_.empty() && grab()) {
    Take& first = waiters_.front<Take>();
    first.has_token_ = true;
    first.stop_waiting();
    first.leave(Outcome::ok);
  }
  if (waiters_.empty()) {
    loop_.disarm(*this);
  } else {
    loop_.arm(*this, full_at_ - tolerance_);
  }
}

TokenBucket::Take::~Take() {
  stop_waiting();
  if (has_token_) bucket_.give_back();
}

bool TokenBucket::Take::start(Context& context, std::coroutine_handle<> self) {
  if (!enter(context, self)) return false;
  if (bucket_.try_take()) {
    has_token_ = true;
    settle(Outcome::ok);
    return false;
  }
  bucket_.waiters_.join(*this);
  waiting_ = true;
  ++bucket_.waiting_;
  if (!bucket_.armed()) bucket_.serve();
  return true;
}

Result<> TokenBucket::Take::await_resume() {
  if (outcome() != Outcome::ok) return cut_short("waiting for the rate limit");
  has_token_ = false;
  return {};
}

void TokenBucket::Take::cancelled(Outcome why) {
  stop_waiting();
  leave(why);
}

void TokenBucket::Take::stop_waiting() {
  if (waiting_) --bucket_.waiting_;
  waiting_ = false;
}

}  // namespace isthmus

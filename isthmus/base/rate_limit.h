// TokenBucket: so many operations per second on average, so many at once.
#pragma once

#include <coroutine>

#include "isthmus/base/clock.h"
#include "isthmus/base/waiter.h"

namespace isthmus {

// A full bucket holds `burst` tokens; one comes back every 1/qps seconds. A resource; outlives
// every wait on it.
class TokenBucket final : private Timer {
 public:
  // One token in a thousand seconds to one a microsecond; burst is from 1 to a million. Within
  // these no sum of moments overflows: a million thousand seconds are 31 years.
  static constexpr double kQpsMin = 0.001;
  static constexpr double kQpsMax = 1e6;

  TokenBucket(Loop& loop, double qps, unsigned burst);
  ~TokenBucket();

  // A token if one is there and nobody waits for it.
  bool try_take();

  // Result<>: ok with a token, in the order of asking. cancelled or deadline when the scope ended
  // first: then no token was used, nor is one lost when the waiter is destroyed.
  class Take;
  Take take();

  // When take() would be served if asked now; now() when at once.
  Moment next_at() const;

  std::size_t waiting() const { return waiting_; }

 private:
  bool grab();
  void give_back();
  void serve();
  void expired() override { serve(); }

  Loop& loop_;
  const Duration interval_;   // One token comes back.
  const Duration tolerance_;  // How far full_at_ may lie ahead with a token still left.
  Moment full_at_;            // When the bucket is full again if nobody takes: its whole state.
  WaitLine waiters_;
  std::size_t waiting_ = 0;
};

class TokenBucket::Take final : private Waiter {
 public:
  explicit Take(TokenBucket& bucket) : bucket_(bucket) {}
  ~Take() override;
  bool await_ready() const { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    return start(*self.promise().context, self);
  }
  Result<> await_resume();

 private:
  friend class TokenBucket;
  friend class WaitLine;
  bool start(Context& context, std::coroutine_handle<> self);
  void cancelled(Outcome why) override;
  void stop_waiting();

  TokenBucket& bucket_;
  bool waiting_ = false;
  bool has_token_ = false;
};

inline TokenBucket::Take TokenBucket::take() { return Take(*this); }

}  // namespace isthmus

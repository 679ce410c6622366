// The guard around one cloud: every call of every controller passes it.
//
//   deadline     each call has one, which counts the wait at the gate as well
//   gate         so many calls at once, so many per second, served in the order of asking
//   breaker      a cloud that limits us or does not answer is left alone (breaker.h)
//   meter        calls, latency, outcomes and the breaker's state
//
// The guard never retries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "isthmus/base/channel.h"
#include "isthmus/base/log.h"
#include "isthmus/base/metrics.h"
#include "isthmus/base/rate_limit.h"
#include "isthmus/base/scope.h"
#include "isthmus/cloud/breaker.h"

namespace isthmus::cloud {

// What one cloud can take. Every provider names its own; these suit a small backend in the same
// building.
struct GuardLimits {
  Duration call_deadline = std::chrono::seconds(10);
  Duration list_deadline = std::chrono::seconds(60);  // Several pages.
  double calls_per_second = 50;
  unsigned burst = 100;
  std::size_t calls_at_once = 16;
  BreakerLimits breaker = {};
};

// A resource. Outlives every call.
class Guard {
 public:
  Guard(std::string provider, GuardLimits limits, Loop& loop, Metrics& metrics, Logger& log);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // What `busy` says as the answer to a call: that the cloud limits us, so that everyone waits; or
  // that the thing it was about is being worked on, which is no matter of the others.
  enum class Busy : std::uint8_t { everyone, one_thing };

  // Runs the call, which does nothing before it is let through, and answers what it answers.
  // Besides that: busy (not sent: the breaker is open, or the gate too crowded), deadline (the
  // call's own time is up), cancelled and deadline of the caller's scope. `operation` is a constant
  // word for metrics.
  template <class T>
  Task<Result<T>> call(std::string_view operation, Duration deadline, Task<Result<T>> inner,
                       Busy busy = Busy::everyone);

  Breaker::State breaker_state() const { return breaker_.state(loop_.now()); }
  const GuardLimits& limits() const { return limits_; }

 private:
  struct Permit {};

  // A call that was let through. Gives its permit back, and tells the breaker even when the call is
  // destroyed half-way.
  class Passage;

  Task<Result<>> enter(Moment deadline);
  Task<Result<>> take_permit_and_token(bool& has_permit);
  void leave(Breaker::Ticket ticket, const Error* error);
  void count(std::string_view operation, Outcome outcome, Duration duration);
  Error refused(std::string_view operation, Error error);

  const std::string provider_;
  const GuardLimits limits_;
  Loop& loop_;
  Metrics& metrics_;
  Logger& log_;
  Breaker breaker_;
  TokenBucket bucket_;
  Channel<Permit> permits_;
  Metrics::OnCollect collect_;
};

class Guard::Passage {
 public:
  Passage(Guard& guard, Breaker::Ticket ticket) : guard_(guard), ticket_(ticket) {}
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;
  ~Passage() {
    static const Error kCutOff{Outcome::cancelled, "destroyed while it was waiting"};
    if (!answered_) guard_.leave(ticket_, &kCutOff);
  }
  void answered(const Error* error) {
    answered_ = true;
    guard_.leave(ticket_, error);
  }

 private:
  Guard& guard_;
  const Breaker::Ticket ticket_;
  bool answered_ = false;
};

template <class T>
Task<Result<T>> Guard::call(std::string_view operation, Duration time, Task<Result<T>> inner,
                            Busy busy) {
  const Moment deadline = loop_.now() + time;
  const Result<> entered = co_await enter(deadline);
  if (!entered) co_return std::unexpected(refused(operation, entered.error()));
  const Result<Breaker::Ticket> ticket = breaker_.admit(loop_.now());
  if (!ticket) {
    permits_.try_send(Permit{});
    co_return std::unexpected(refused(operation, ticket.error()));
  }
  Passage passage(*this, *ticket);
  const Moment sent = loop_.now();
  Result<T> answer = co_await with_deadline(deadline, std::move(inner));
  const bool is_fine = answer || (answer.outcome() == Outcome::busy && busy == Busy::one_thing);
  passage.answered(is_fine ? nullptr : &answer.error());
  count(operation, answer.outcome(), loop_.now() - sent);
  co_return answer;
}

}  // namespace isthmus::cloud

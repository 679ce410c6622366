#include "isthmus/cloud/guard.h"

#include <vector>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

// 5 ms to 40 s.
const std::vector<double>& latency_buckets() {
  static const std::vector<double> buckets = exponential_buckets(0.005, 2, 14);
  return buckets;
}

}  // namespace

Guard::Guard(std::string provider, GuardLimits limits, Loop& loop, Metrics& metrics, Logger& log)
    : provider_(std::move(provider)),
      limits_(limits),
      loop_(loop),
      metrics_(metrics),
      log_(log),
      breaker_(limits.breaker),
      bucket_(loop, limits.calls_per_second, limits.burst),
      permits_(limits.calls_at_once),
      collect_(metrics, [this] {
        metrics_
            .gauge("isthmus_cloud_breaker_state", "0 closed, 1 half open, 2 open: no calls pass.",
                   {{"provider", provider_}})
            .set(static_cast<double>(breaker_state()));
      }) {
  for (std::size_t i = 0; i < limits_.calls_at_once; ++i) permits_.try_send(Permit{});
}

Task<Result<>> Guard::enter(Moment deadline) {
  if (auto shut = breaker_.refusal(loop_.now())) co_return std::unexpected(*std::move(shut));
  const Moment next_token = bucket_.next_at();
  if (next_token > deadline) {
    co_return fail(Outcome::busy, "not sent: too many calls per second", next_token - loop_.now());
  }
  bool has_permit = false;
  const Result<> entered = co_await with_deadline(deadline, take_permit_and_token(has_permit));
  if (entered) co_return {};
  if (has_permit) permits_.try_send(Permit{});
  Scope& caller = co_await current_scope();
  if (caller.is_cancelled()) co_return std::unexpected(entered.error());
  co_return fail(Outcome::busy, "not sent: too many calls are under way");
}

Task<Result<>> Guard::take_permit_and_token(bool& has_permit) {
  CO_TRY(co_await permits_.receive());
  has_permit = true;
  CO_TRY(co_await bucket_.take());
  co_return {};
}

void Guard::leave(Breaker::Ticket ticket, const Error* error) {
  permits_.try_send(Permit{});
  const Moment now = loop_.now();
  const Breaker::State before = breaker_.state(now);
  breaker_.report(ticket, error, now);
  const Breaker::State after = breaker_.state(now);
  if (before == after) return;
  if (after == Breaker::State::closed) {
    log_.info("the cloud answers again", {{"provider", provider_}});
  } else if (after == Breaker::State::open) {
    log_.warning("no calls to the cloud for a while", {{"provider", provider_}, {"why", *error}});
  }
}

void Guard::count(std::string_view operation, Outcome outcome, Duration duration) {
  const std::string word(operation);
  metrics_
      .counter("isthmus_cloud_calls_total", "Calls to a cloud that were sent, by their outcome.",
               {{"provider", provider_},
                {"operation", word},
                {"outcome", std::string(to_string(outcome))}})
      .add();
  metrics_
      .histogram("isthmus_cloud_call_duration_seconds", "How long a cloud took to answer.",
                 latency_buckets(), {{"provider", provider_}, {"operation", word}})
      .observe(duration);
}

Error Guard::refused(std::string_view operation, Error error) {
  metrics_
      .counter("isthmus_cloud_calls_not_sent_total",
               "Calls that were not sent: the breaker was open, or the gate too crowded.",
               {{"provider", provider_}, {"operation", std::string(operation)}})
      .add();
  return error;
}

}  // namespace isthmus::cloud

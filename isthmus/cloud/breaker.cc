#include "isthmus/cloud/breaker.h"

#include <algorithm>

namespace isthmus::cloud {
namespace {

// Those who come while the probe is out need not come back before it may be answered.
constexpr Duration kProbeTime = std::chrono::seconds(1);

}  // namespace

std::optional<Error> Breaker::refusal(Moment now) const {
  switch (state(now)) {
    case State::closed:
      return std::nullopt;
    case State::open:
      return Error{Outcome::busy, "not sent: the cloud was limiting us or not answering",
                   until_ - now};
    case State::half_open:
      if (!probing_) return std::nullopt;
      return Error{Outcome::busy, "not sent: one call is finding out whether the cloud is back",
                   kProbeTime};
  }
  ISTHMUS_ASSERT(false, "a breaker in no state");
}

Result<Breaker::Ticket> Breaker::admit(Moment now) {
  if (auto refused = refusal(now)) return std::unexpected(*std::move(refused));
  probing_ = open_;
  return Ticket{epoch_, probing_};
}

void Breaker::report(Ticket ticket, const Error* error, Moment now) {
  const bool current = ticket.epoch == epoch_;
  const Outcome outcome = error ? error->outcome : Outcome::ok;
  if (ticket.probe && current) probing_ = false;
  if (outcome == Outcome::cancelled) return;
  if (outcome == Outcome::busy) {
    const Duration named = error->retry_after;
    open_until(now + (named > Duration::zero() ? named : limits_.busy_default));
    return;
  }
  if (!current) return;
  if (outcome == Outcome::lost || outcome == Outcome::deadline) {
    report_lost(ticket, now);
    return;
  }
  lost_in_a_row_ = 0;
  open_for_ = {};
  if (ticket.probe) {
    open_ = false;
    ++epoch_;
  }
}

Breaker::State Breaker::state(Moment now) const {
  if (!open_) return State::closed;
  return now < until_ ? State::open : State::half_open;
}

void Breaker::report_lost(Ticket ticket, Moment now) {
  ++lost_in_a_row_;
  if (!ticket.probe && lost_in_a_row_ < limits_.lost_to_open) return;
  open_for_ = open_for_ == Duration::zero() ? limits_.open_first
                                            : std::min(2 * open_for_, limits_.open_longest);
  open_until(now + open_for_);
}

void Breaker::open_until(Moment until) {
  until_ = open_ ? std::max(until_, until) : until;
  open_ = true;
  probing_ = false;
  lost_in_a_row_ = 0;
  ++epoch_;
}

std::string_view to_string(Breaker::State state) {
  switch (state) {
    case Breaker::State::closed:
      return "closed";
    case Breaker::State::half_open:
      return "half open";
    case Breaker::State::open:
      return "open";
  }
  ISTHMUS_ASSERT(false, "a breaker state that has no name");
}

}  // namespace isthmus::cloud

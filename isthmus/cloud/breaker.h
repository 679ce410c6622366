// The door of one cloud: open while it answers, shut while it asks for silence or does not answer.
// A plain state machine that is told the time.
//
//   closed     every call passes. A rate-limit answer, or so many lost answers in a row, open it.
//   open       no call passes until its time has come.
//   half open  one call passes, the probe; its answer closes the breaker or opens it again.
//
// (The words are those of electricity: a closed breaker lets through.)
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus::cloud {

struct BreakerLimits {
  // In a row, with no answer of any kind between them. Five at a 10 s deadline is under a minute
  // of calls to a dead cloud.
  unsigned lost_to_open = 5;

  // How long it stays open after lost answers: doubling from the first to the longest, as long as
  // probes are lost too.
  Duration open_first = std::chrono::seconds(5);
  Duration open_longest = std::chrono::minutes(2);

  // After a rate-limit answer that names no time.
  Duration busy_default = std::chrono::seconds(5);
};

class Breaker {
 public:
  enum class State : std::uint8_t { closed, half_open, open };

  // Says which call is reporting; a value that admit() made.
  struct Ticket {
    std::uint64_t epoch = 0;
    bool probe = false;
  };

  explicit Breaker(BreakerLimits limits) : limits_(limits) {}

  // The refusal that admit() would answer now; nullopt when a call would pass.
  std::optional<Error> refusal(Moment now) const;

  // Lets a call pass, which must then report(). busy, with the time after which to come back, when
  // it is shut or another call is the probe.
  Result<Ticket> admit(Moment now);

  // What became of the call. Any answer of the other side proves it alive, refusals included. What
  // we cut off ourselves (cancelled) proves nothing. A call that was sent before the state last
  // changed only counts when it brings a rate limit.
  void report(Ticket ticket, const Error* error, Moment now);

  State state(Moment now) const;

 private:
  void open_until(Moment until);
  void report_lost(Ticket ticket, Moment now);

  const BreakerLimits limits_;
  bool open_ = false;  // Open or half open.
  bool probing_ = false;
  Moment until_{};
  Duration open_for_{};  // The last time it was open for lost answers; zero: it was not.
  unsigned lost_in_a_row_ = 0;
  std::uint64_t epoch_ = 0;
};

std::string_view to_string(Breaker::State state);

}  // namespace isthmus::cloud

// Errors are values. Result<T> is what every function returns that the world can make fail; its
// Error carries one Outcome, which names the caller's reaction, and a sentence for people.
//
// Policy reads the outcome and never the text. There is one enum for the whole program, so an
// answer keeps its meaning from the socket to the work queue.
#pragma once

#include <cstdint>
#include <expected>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "isthmus/base/clock.h"

namespace isthmus {

enum class Outcome : std::uint8_t {
  ok,        // Done; the value is there.
  absent,    // An authoritative, typed answer that the thing does not exist. Nothing else is this.
  conflict,  // A precondition did not hold: read again, decide again.
  busy,      // Come back later, after Error::retry_after where the other side named one.
  denied,    // Not authenticated or not allowed. Retrying at once does not help.
  invalid,   // The request or the input is wrong; only a change of it helps.
  unsupported,  // The other side cannot do this at all.
  lost,         // Effect unknown: cut connection, unparsable, truncated or contradictory answer.
  cancelled,    // Our own scope was cancelled.
  deadline,     // Our own time ran out. The effect of what was being done is unknown.
};

// The lower-case word for an outcome, as used in logs and metric labels.
std::string_view to_string(Outcome outcome);

struct Error {
  Outcome outcome = Outcome::lost;
  std::string message;        // For people. No code compares it.
  Duration retry_after = {};  // Zero: the other side named no time. Only meaningful with busy.

  friend bool operator==(const Error&, const Error&) = default;
};

// A value or an Error. Dropping one is a compile-time error, unlike a bare std::expected.
template <class T = void>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;

  // ok, or the error's outcome: lets a caller switch over everything that can happen.
  Outcome outcome() const { return this->has_value() ? Outcome::ok : this->error().outcome; }
};

// Equal values or equal errors. The base's own comparison would take the other side for a value.
template <class T>
bool operator==(const Result<T>& left, const Result<T>& right) {
  return static_cast<const std::expected<T, Error>&>(left) ==
         static_cast<const std::expected<T, Error>&>(right);
}

// Makes the failing side of any Result: `return fail(Outcome::invalid, "port: 0 is not a port")`.
inline std::unexpected<Error> fail(Outcome outcome, std::string message,
                                   Duration retry_after = {}) {
  return std::unexpected(Error{outcome, std::move(message), retry_after});
}

// The same error with words put in front ("reading /etc/x: …"); outcome and retry_after are kept.
inline std::unexpected<Error> fail(std::string_view context, Error error) {
  error.message = std::string(context) + ": " + error.message;
  return std::unexpected(std::move(error));
}

// True for what only we ourselves cause; such an error says nothing about the other side.
inline bool is_our_own(Outcome outcome) {
  return outcome == Outcome::cancelled || outcome == Outcome::deadline;
}

[[noreturn]] void assertion_failed(std::string_view condition, std::string_view explanation,
                                   std::source_location where);

}  // namespace isthmus

// A bug, not an error: prints where and why, and aborts. Stays on in every build, because a crash
// is a liveness bug while carrying on with corrupt state is a safety bug.
#define ISTHMUS_ASSERT(condition, explanation)                                               \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      ::isthmus::assertion_failed(#condition, explanation, std::source_location::current()); \
    }                                                                                        \
  } while (false)

// TRY(expression) is the value of a Result, or returns its error from the enclosing plain function;
// CO_TRY is the same inside a coroutine. Never use either inside a new-expression: clang 19 leaks
// the allocation there. For Result<void> the whole expression has type void.
#define ISTHMUS_TRY_WITH(leave, ...)                            \
  ({                                                            \
    auto&& isthmus_result = (__VA_ARGS__);                      \
    if (!isthmus_result) [[unlikely]] {                         \
      leave std::unexpected(std::move(isthmus_result).error()); \
    }                                                           \
    ::isthmus::detail::take(std::move(isthmus_result));         \
  })
#define TRY(...) ISTHMUS_TRY_WITH(return, __VA_ARGS__)
#define CO_TRY(...) ISTHMUS_TRY_WITH(co_return, __VA_ARGS__)

namespace isthmus::detail {

template <class T>
T take(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace isthmus::detail

// What goes wrong with the calls of a cloud in memory, and what is counted of them.
#pragma once

#include <cstddef>
#include <optional>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"
#include "isthmus/base/task.h"

namespace isthmus::providers::fake {

// What goes wrong until the test says otherwise. All are as a caller would meet them.
struct Faults {
  Duration delay = {};                     // Before every answer.
  std::optional<Error> error = {};         // Instead of every answer…
  std::optional<std::size_t> errors = {};  // …or only of so many.
  bool silent = false;                     // No answer at all, until the caller gives up.

  // So many further calls about load balancers, target sets and routes have their effect, and the
  // answer to it is lost on the way.
  std::size_t answers_lost = 0;

  // Lists skip the items beyond, and say so, or do not.
  std::optional<std::size_t> list_only = {};
  bool partial_list_claims_to_be_complete = false;

  // Calls allowed at all; further ones are busy for `busy_for`.
  std::optional<std::size_t> calls_until_limit = {};
  Duration busy_for = std::chrono::seconds(30);
};

// The part that all verbs have in common.
class FakeCalls {
 public:
  Faults faults;

  // Calls now waiting for their answer, and the most there ever were. One that follows is not
  // counted.
  std::size_t in_flight = 0;
  std::size_t most_in_flight = 0;

  // Every verb's first act: waits and fails as the faults say, before anything has happened.
  Task<Result<>> suffer();

  // Every writing verb's last act: whether its answer arrives.
  Result<> deliver();
};

}  // namespace isthmus::providers::fake

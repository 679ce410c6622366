#include "isthmus/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace isthmus {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::absent:
      return "absent";
    case Outcome::conflict:
      return "conflict";
    case Outcome::busy:
      return "busy";
    case Outcome::denied:
      return "denied";
    case Outcome::invalid:
      return "invalid";
    case Outcome::unsupported:
      return "unsupported";
    case Outcome::lost:
      return "lost";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::deadline:
      return "deadline";
  }
  ISTHMUS_ASSERT(false, "an Outcome that has no name");
}

// Writes with stdio because the logger may be what is broken.
void assertion_failed(std::string_view condition, std::string_view explanation,
                      std::source_location where) {
  std::fprintf(stderr, "%s:%u: bug: %.*s (%.*s is false)\n", where.file_name(),
               static_cast<unsigned>(where.line()), static_cast<int>(explanation.size()),
               explanation.data(), static_cast<int>(condition.size()), condition.data());
  std::abort();
}

}  // namespace isthmus

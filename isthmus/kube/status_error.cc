#include "isthmus/kube/status_error.h"

#include <fmt/format.h>

#include <algorithm>

namespace isthmus::kube {
namespace {

// What is made below an object ("serviceaccounts/x/token") is refused in the name of the object.
bool is_about(const Status& status, const ObjectName& about) {
  const std::string_view plural = about.resource.plural;
  return !about.key.name.empty() && status.kind == plural.substr(0, plural.find('/')) &&
         status.name == about.key.name;
}

// Reasons are read before codes: in a stream the code may be missing, and 504 has two meanings.
Outcome outcome_of(const Status& status, const ObjectName& about) {
  if (status.has_cause("ResourceVersionTooLarge")) return Outcome::conflict;
  if (status.reason == "NotFound") {
    return is_about(status, about) ? Outcome::absent : Outcome::lost;
  }
  if (status.reason == "Expired" || status.reason == "Gone") return Outcome::conflict;
  switch (status.code) {
    case 401:
    case 403:
      return Outcome::denied;
    case 409:
    case 410:
      return Outcome::conflict;
    case 400:
    case 413:
    case 422:
      return Outcome::invalid;
    case 405:
    case 406:
    case 415:
    case 501:
      return Outcome::unsupported;
    case 429:
      return Outcome::busy;
    default:
      return status.code >= 500 ? Outcome::busy : Outcome::lost;
  }
}

}  // namespace

Error error_of(const Status& status, const ObjectName& about) {
  const Outcome outcome = outcome_of(status, about);
  std::string message = fmt::format("{} {}: {}", status.code, status.reason, status.message);
  Duration wait{};
  if (outcome == Outcome::busy && status.retry_after) {
    wait = std::min(*status.retry_after, kRetryAfterMax);
  }
  return {outcome, std::move(message), wait};
}

}  // namespace isthmus::kube

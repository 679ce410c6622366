// meta/v1 Status: what the API server says when the answer is not an object. It is the body of
// every refusal, of most successful deletions, and the object of an ERROR line in a watch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/base/clock.h"

namespace isthmus::kube {

struct StatusCause {
  std::string reason = {};  // "FieldValueInvalid", "ResourceVersionTooLarge", …
  std::string message = {};
  std::string field = {};  // "spec.providerID"

  friend bool operator==(const StatusCause&, const StatusCause&) = default;
};

struct Status {
  std::string status = {};  // "Success" or "Failure".
  std::string reason = {};  // "NotFound", "AlreadyExists", "Conflict", "Expired", "Invalid", …
  std::string message = {};
  std::int32_t code = 0;  // The HTTP status; in a watch there is no other place for it.

  // details
  std::string name = {};
  std::string group = {};
  std::string kind = {};  // The plural as a rule ("nodes"), sometimes the kind ("Node").
  std::string uid = {};
  std::vector<StatusCause> causes = {};
  std::optional<Duration> retry_after = {};  // retryAfterSeconds; negative counts as none.

  bool has_cause(std::string_view cause_reason) const {
    return std::ranges::find(causes, cause_reason, &StatusCause::reason) != causes.end();
  }

  friend bool operator==(const Status&, const Status&) = default;
};

}  // namespace isthmus::kube

// What a Status of the API server means to us.
#pragma once

#include "isthmus/base/result.h"
#include "isthmus/kube/api/status.h"
#include "isthmus/kube/api_door.h"

namespace isthmus::kube {

// The longest wait we accept from a server that says when to return: a mistake of its own, or of a
// proxy, must not silence us (reliability A5).
inline constexpr Duration kRetryAfterMax = std::chrono::seconds(60);

// For a refusal of a call about `about` (an empty name: about all objects of its type), and for the
// object of an ERROR line in a watch. Reads code, reason, details and causes; never the message.
Error error_of(const Status& status, const ObjectName& about);

}  // namespace isthmus::kube

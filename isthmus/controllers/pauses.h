// Pauses that several controllers make.
#pragma once

#include "isthmus/base/backoff.h"

namespace isthmus::controllers {

// Following the cloud begins anew within a second of its end, and while that fails twice a minute;
// an end after so long a quiet is a first one again.
inline constexpr BackoffPolicy kFollowBackoff{
    .start = std::chrono::seconds(1), .cap = std::chrono::seconds(30), .jitter = Jitter::half};
inline constexpr Duration kFollowQuiet = std::chrono::minutes(2);

// What is due already comes after this, so that nothing spins.
inline constexpr Duration kSoonest = std::chrono::seconds(1);

// The API server forgets an event after an hour (--event-ttl); what is still so then is told anew.
inline constexpr Duration kTellAgain = std::chrono::hours(1);

}  // namespace isthmus::controllers

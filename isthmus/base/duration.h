// Durations as Kubernetes and its flags write them: Go's notation, "1h2m3.5s".
#pragma once

#include <string>
#include <string_view>

#include "isthmus/base/clock.h"
#include "isthmus/base/result.h"

namespace isthmus {

// Reads what Go's time.ParseDuration reads: an optional sign, then one or more decimal numbers each
// with a unit (ns, us, µs, ms, s, m, h); "0" needs none. Digits beyond a nanosecond are cut off.
// invalid: anything else, and what does not fit (about 292 years); the message quotes the input.
Result<Duration> parse_duration(std::string_view text);

// Writes what Go's Duration.String writes: "5m0s", "1.5s", "100µs", "0s".
std::string format_duration(Duration duration);

}  // namespace isthmus

// Times as the API writes them: rfc3339 and rfc3339_micro (base/clock.h), and read here.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/base/clock.h"

namespace isthmus::infra::api {

// What RFC 3339 calls date-time, of any offset; fractions beyond a nanosecond are cut off.
std::optional<WallTime> parse_rfc3339(std::string_view text);

}  // namespace isthmus::infra::api

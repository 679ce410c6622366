// A report as tables for people: aligned, one object a line, and below whatever is not as it should
// be the reason, in the words of the server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isthmus/app/status_report.h"
#include "isthmus/base/clock.h"

namespace isthmus::app {

// Lines with a line feed each. `now` is what waiting times are counted from.
std::string status_table(const StatusReport& report, WallTime now);

// Rows as wide as their widest cells, two spaces between; the first is the heading. A row of one
// cell stands as it is and widens nothing: it explains the row above. Control characters, which a
// terminal might obey, are shown as "?".
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace isthmus::app

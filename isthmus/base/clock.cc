#include "isthmus/base/clock.h"

#include <fmt/format.h>

#include "isthmus/base/result.h"

namespace isthmus {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// Howard Hinnant's calendar is part of C++20, so no formula of ours turns days into dates.
std::string date_and_time(WallTime time) {
  const auto since_epoch = std::chrono::floor<seconds>(time.time_since_epoch());
  const std::chrono::sys_seconds at{since_epoch};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{at - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace

std::string rfc3339(WallTime time) { return date_and_time(time) + "Z"; }

std::string rfc3339_micro(WallTime time) {
  const auto whole = std::chrono::floor<seconds>(time.time_since_epoch());
  const auto fraction = std::chrono::floor<microseconds>(time.time_since_epoch() - whole).count();
  return fmt::format("{}.{:06}Z", date_and_time(time), fraction);
}

}  // namespace isthmus

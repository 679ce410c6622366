#include "isthmus/infra/api/timestamps.h"

#include <charconv>
#include <chrono>

namespace isthmus::infra::api {
namespace {

// Takes exactly `digits` digits from the front of the text.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  int number = 0;
  if (text.size() < digits) return std::nullopt;
  const char* end = text.data() + digits;
  auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stopped != end || number < 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// ".5" and the like; zero where there is none.
std::optional<Duration> take_fraction(std::string_view& text) {
  if (!take(text, ".")) return Duration::zero();
  std::int64_t value = 0;
  std::int64_t scale = 100'000'000;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    value += (text[digits] - '0') * scale;
    scale /= 10;
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return Duration(value);
}

// "Z", or "+01:00": how far the local time is ahead of UTC.
std::optional<Duration> take_offset(std::string_view& text) {
  if (take(text, "Zz")) return Duration::zero();
  if (text.empty()) return std::nullopt;
  int sign = text.front() == '-' ? -1 : 1;
  if (!take(text, "+-")) return std::nullopt;
  std::optional<int> hours = take_number(text, 2);
  if (!hours || *hours > 23 || !take(text, ":")) return std::nullopt;
  std::optional<int> minutes = take_number(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return sign * (std::chrono::hours(*hours) + std::chrono::minutes(*minutes));
}

}  // namespace

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  std::optional<int> year = take_number(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  std::optional<int> month = take_number(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  std::optional<int> day = take_number(text, 2);
  if (!day || !take(text, "Tt ")) return std::nullopt;
  std::optional<int> hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ":")) return std::nullopt;
  std::optional<int> minute = take_number(text, 2);
  if (!minute || *minute > 59 || !take(text, ":")) return std::nullopt;
  std::optional<int> second = take_number(text, 2);
  if (!second || *second > 60) return std::nullopt;  // 60: a leap second.
  std::optional<Duration> fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  std::optional<Duration> offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;

  std::chrono::year_month_day date{std::chrono::year(*year),
                                   std::chrono::month(static_cast<unsigned>(*month)),
                                   std::chrono::day(static_cast<unsigned>(*day))};
  // Outside these years a count of nanoseconds does not fit.
  if (!date.ok() || *year < 1900 || *year > 2200) return std::nullopt;
  Duration days = std::chrono::sys_days(date).time_since_epoch();
  return WallTime(days + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
                  std::chrono::seconds(*second) + *fraction - *offset);
}

}  // namespace isthmus::infra::api

#include "isthmus/kube/api/meta.h"

#include <algorithm>
#include <charconv>

#include "isthmus/base/text.h"

namespace isthmus::kube {
namespace {

// Takes what it reads off the front of the text; false, with the text in any state, when it cannot.
bool take_number(std::string_view& text, std::size_t digits, int& number) {
  if (text.size() < digits) return false;
  const char* end = text.data() + digits;
  for (const char* c = text.data(); c != end; ++c) {
    if (*c < '0' || *c > '9') return false;
  }
  std::from_chars(text.data(), end, number);
  text.remove_prefix(digits);
  return true;
}

bool take_one_of(std::string_view& text, std::string_view characters) {
  if (text.empty() || !characters.contains(text.front())) return false;
  text.remove_prefix(1);
  return true;
}

// ".5" is half a second: the digits missing to nine are zeros.
bool take_fraction(std::string_view& text, Duration& fraction) {
  if (!take_one_of(text, ".")) return true;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0 || digits > 9) return false;
  int number = 0;
  if (!take_number(text, digits, number)) return false;
  for (; digits < 9; ++digits) number *= 10;
  fraction = std::chrono::nanoseconds(number);
  return true;
}

bool take_zone(std::string_view& text, Duration& offset) {
  if (take_one_of(text, "Zz")) return true;
  const bool behind = text.starts_with('-');
  int hours = 0;
  int minutes = 0;
  if (!take_one_of(text, "+-") || !take_number(text, 2, hours) || !take_one_of(text, ":") ||
      !take_number(text, 2, minutes) || hours > 23 || minutes > 59) {
    return false;
  }
  offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  if (behind) offset = -offset;
  return true;
}

}  // namespace

std::string to_string(const ObjectKey& key) {
  return key.name_space.empty() ? key.name : key.name_space + "/" + key.name;
}

Result<ObjectKey> parse_object_key(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '/');
  const bool complete = std::ranges::none_of(parts, &std::string_view::empty);
  if (!complete || parts.size() > 2) {
    return fail(Outcome::invalid,
                isthmus::quoted(text) + " is neither \"name\" nor \"namespace/name\"");
  }
  if (parts.size() == 1) return ObjectKey{.name = std::string(parts[0])};
  return ObjectKey{std::string(parts[0]), std::string(parts[1])};
}

bool ObjectMeta::has_finalizer(std::string_view finalizer) const {
  return std::ranges::find(finalizers, finalizer) != finalizers.end();
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  Duration fraction{};
  Duration offset{};
  const bool read =
      take_number(text, 4, year) && take_one_of(text, "-") && take_number(text, 2, month) &&
      take_one_of(text, "-") && take_number(text, 2, day) && take_one_of(text, "Tt") &&
      take_number(text, 2, hour) && take_one_of(text, ":") && take_number(text, 2, minute) &&
      take_one_of(text, ":") && take_number(text, 2, second) && take_fraction(text, fraction) &&
      take_zone(text, offset);
  if (!read || !text.empty()) return std::nullopt;

  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // A leap second (60) is read as the second after it.
  if (!date.ok() || hour > 23 || minute > 59 || second > 60 || year < 1970 || year > 2261) {
    return std::nullopt;
  }
  const Duration since_1970 = std::chrono::sys_days(date).time_since_epoch() +
                              std::chrono::hours(hour) + std::chrono::minutes(minute) +
                              std::chrono::seconds(second) + fraction - offset;
  return WallTime(since_1970);
}

}  // namespace isthmus::kube

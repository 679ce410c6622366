#include "isthmus/base/duration.h"

#include <array>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

namespace isthmus {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

// Both ways to write the micro sign (U+00B5 and the Greek letter U+03BC) are in use.
constexpr std::array kUnits{
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"\u00b5s", 1'000},
    Unit{"\u03bcs", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

// One more than the largest positive value fits on the negative side; giving that single value up
// keeps the sign out of the arithmetic.
constexpr std::uint64_t kLongest = std::numeric_limits<Duration::rep>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// What is left to read, and what has been added up.
struct Parser {
  std::string_view rest;
  std::uint64_t total = 0;

  // nullptr when one more "number unit" was read, else what is wrong.
  const char* component();
  bool digits(std::uint64_t& number);
};

// False when there was no digit; a number that is too large stays too large.
bool Parser::digits(std::uint64_t& number) {
  number = 0;
  std::size_t count = 0;
  for (; count < rest.size() && is_digit(rest[count]); ++count) {
    const auto digit = static_cast<std::uint64_t>(rest[count] - '0');
    number = number > kLongest / 10 ? kLongest + 1 : number * 10 + digit;
  }
  rest.remove_prefix(count);
  return count > 0;
}

const char* Parser::component() {
  std::uint64_t whole = 0;
  const bool has_whole = digits(whole);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    std::size_t count = 0;
    while (count < rest.size() && is_digit(rest[count])) ++count;
    fraction = rest.substr(0, count);
    rest.remove_prefix(count);
  }
  if (!has_whole && fraction.empty()) return "expected a number";

  std::size_t length = 0;
  while (length < rest.size() && rest[length] != '.' && !is_digit(rest[length])) ++length;
  const std::string_view name = rest.substr(0, length);
  if (name.empty()) return "a number without a unit; the units are ns, us, ms, s, m and h";
  rest.remove_prefix(length);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (whole > kLongest / unit.nanoseconds) return "too long";
    std::uint64_t value = whole * unit.nanoseconds;
    std::uint64_t place = unit.nanoseconds;
    // An hour has 14 digits of nanoseconds and is not a power of ten, so each digit is scaled by
    // itself; what is lost is below a nanosecond per digit.
    for (std::uint64_t scale = 10; const char digit : fraction) {
      if (scale > place) break;
      value += place * static_cast<std::uint64_t>(digit - '0') / scale;
      scale *= 10;
    }
    if (value > kLongest - total) return "too long";
    total += value;
    return nullptr;
  }
  return "unknown unit; the units are ns, us, ms, s, m and h";
}

// Digits of a fraction without trailing zeros, with its point; empty for none.
std::string fraction_text(std::uint64_t fraction, int digits) {
  if (fraction == 0) return {};
  std::string text = fmt::format(".{:0{}}", fraction, digits);
  while (text.back() == '0') text.pop_back();
  return text;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto refuse = [text](std::string_view why) {
    return fail(Outcome::invalid, fmt::format("\"{}\" is no duration: {}", text, why));
  };
  Parser parser{text};
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) parser.rest.remove_prefix(1);
  if (parser.rest == "0") return Duration{};
  if (parser.rest.empty()) return refuse("expected a number");
  while (!parser.rest.empty()) {
    if (const char* wrong = parser.component()) return refuse(wrong);
  }
  const auto total = static_cast<Duration::rep>(parser.total);
  return Duration(negative ? -total : total);
}

std::string format_duration(Duration duration) {
  const bool negative = duration.count() < 0;
  // Negated as unsigned, because the most negative duration has no positive twin.
  const auto bits = static_cast<std::uint64_t>(duration.count());
  const std::uint64_t total = negative ? std::uint64_t{0} - bits : bits;
  const std::string_view sign = negative ? "-" : "";
  if (total == 0) return "0s";
  if (total < 1'000) return fmt::format("{}{}ns", sign, total);
  if (total < 1'000'000) {
    return fmt::format("{}{}{}\u00b5s", sign, total / 1'000, fraction_text(total % 1'000, 3));
  }
  if (total < 1'000'000'000) {
    return fmt::format("{}{}{}ms", sign, total / 1'000'000, fraction_text(total % 1'000'000, 6));
  }
  const std::uint64_t seconds = total / 1'000'000'000;
  const std::string last =
      fmt::format("{}{}s", seconds % 60, fraction_text(total % 1'000'000'000, 9));
  if (seconds < 60) return fmt::format("{}{}", sign, last);
  if (seconds < 3600) return fmt::format("{}{}m{}", sign, seconds / 60, last);
  return fmt::format("{}{}h{}m{}", sign, seconds / 3600, seconds / 60 % 60, last);
}

}  // namespace isthmus

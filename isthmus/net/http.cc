#include "isthmus/net/http.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>

#include "isthmus/base/text.h"

namespace isthmus::net {
namespace {

constexpr Duration kRetryAfterMax = std::chrono::hours(1);

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_names(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, {}, lower, lower);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_unreserved(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// A number of exactly these characters, or -1.
int number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && is_digit(text.front()) ? value : -1;
}

int month_number(std::string_view name) {
  constexpr std::array<std::string_view, 12> kNames = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? -1 : static_cast<int>(found - kNames.begin()) + 1;
}

std::vector<std::string_view> words(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end > 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

// A year of two digits is the one nearest to now (RFC 9110 section 5.6.7); the century will do. A
// year that a WallTime cannot hold becomes the first or last that it can: the waits we care about
// are shorter.
int whole_year(std::string_view text) {
  const int year = number(text);
  if (year < 0) return -1;
  if (text.size() == 4) return std::clamp(year, 1970, 2261);
  return text.size() == 2 ? 2000 + year : -1;
}

// The three forms of RFC 9110 section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT",
// "Sunday, 06-Nov-94 08:49:37 GMT" and "Sun Nov  6 08:49:37 1994". The weekday is not checked.
std::optional<WallTime> parse_http_date(std::string_view text) {
  std::vector<std::string_view> parts = words(text, " ,-");
  if (parts.size() == 5) {
    parts = {parts[0], parts[2], parts[1], parts[4], parts[3], "GMT"};
  }
  if (parts.size() != 6 || parts[5] != "GMT") return std::nullopt;
  const int year = whole_year(parts[3]);
  const int month = month_number(parts[2]);
  const int day = number(parts[1]);
  const std::vector<std::string_view> clock = words(parts[4], ":");
  if (year < 0 || month < 0 || day < 0 || clock.size() != 3) return std::nullopt;
  const int hours = number(clock[0]);
  const int minutes = number(clock[1]);
  const int seconds = number(clock[2]);  // 60 is a leap second.
  if (hours < 0 || minutes < 0 || seconds < 0) return std::nullopt;
  if (hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;

  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return WallTime(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hours) +
                  std::chrono::minutes(minutes) + std::chrono::seconds(seconds));
}

// Everybody who encodes a query the way forms do writes a space as "+".
std::optional<std::string> decode_parameter(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return percent_decode(spaced);
}

// The absolute form, "http://host/path", which a server must accept (RFC 9112 section 3.2.2).
std::string_view without_authority(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    return path == std::string_view::npos ? "/" : target.substr(path);
  }
  return target;
}

}  // namespace

void Headers::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void Headers::set(std::string name, std::string value) {
  std::erase_if(fields_, [&](const auto& field) { return equal_names(field.first, name); });
  add(std::move(name), std::move(value));
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const auto& [field, value] : fields_) {
    if (equal_names(field, name)) return value;
  }
  return std::nullopt;
}

std::optional<Duration> retry_after(const Headers& headers, WallTime now) {
  const std::optional<std::string_view> field = headers.find("Retry-After");
  if (!field) return std::nullopt;
  const std::string_view value = trimmed(*field);
  if (value.empty()) return std::nullopt;
  if (std::ranges::all_of(value, is_digit)) {
    const int seconds = number(value);  // Negative when it is too large to be represented.
    if (seconds < 0) return kRetryAfterMax;
    return std::min<Duration>(std::chrono::seconds(seconds), kRetryAfterMax);
  }
  const std::optional<WallTime> date = parse_http_date(value);
  if (!date) return std::nullopt;
  return std::clamp<Duration>(*date - now, Duration::zero(), kRetryAfterMax);
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4];
    encoded += kDigits[byte & 15];
  }
  return encoded;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    if (at + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[at + 1]);
    const int low = hex_value(text[at + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return decoded;
}

std::string with_query(std::string_view path,
                       const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string target(path);
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    target += separator;
    target += percent_encode(name) + "=" + percent_encode(value);
    separator = '&';
  }
  return target;
}

std::optional<std::string_view> Target::parameter(std::string_view name) const {
  for (auto at = parameters.rbegin(); at != parameters.rend(); ++at) {
    if (at->first == name) return at->second;
  }
  return std::nullopt;
}

Result<Target> parse_target(std::string_view target) {
  const std::string_view local = without_authority(target);
  const std::size_t question = local.find('?');
  Target parsed;
  parsed.path = local.substr(0, question);
  if (parsed.path.empty() && question == 0) parsed.path = "/";
  if (!parsed.path.starts_with('/')) {
    return fail(Outcome::invalid, "target \"" + std::string(target) + "\": does not begin with /");
  }
  if (!percent_decode(parsed.path)) {
    return fail(Outcome::invalid, "path \"" + parsed.path + "\": bad percent-encoding");
  }
  if (question == std::string_view::npos) return parsed;
  for (std::string_view pair : words(local.substr(question + 1), "&")) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = decode_parameter(pair.substr(0, equals));
    const auto value = decode_parameter(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) {
      return fail(Outcome::invalid,
                  "query parameter \"" + std::string(pair) + "\": bad percent-encoding");
    }
    parsed.parameters.emplace_back(*name, *value);
  }
  return parsed;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  const auto may_stand_in_v4 = [](char c) { return is_digit(c) || c == '.'; };
  return host.starts_with("127.") && std::ranges::all_of(host, may_stand_in_v4);
}

std::string without_user_info(std::string_view url) {
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos) return std::string(url);
  const std::size_t scheme = std::min(url.find("://"), at);
  const std::string_view kept = scheme == at ? "" : url.substr(0, scheme + 3);
  return std::string(kept) + "\u2026" + std::string(url.substr(at));
}

}  // namespace isthmus::net

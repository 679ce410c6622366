#include "isthmus/kube/api/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "isthmus/base/text.h"

namespace isthmus::kube {
namespace {

constexpr std::size_t kNameMax = 63;
constexpr std::size_t kSubdomainMax = 253;
constexpr std::size_t kQuotedBytesMax = 100;  // A message is for people, whatever was sent to us.

// Spelled out, because the C library's tests depend on the locale.
bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }
bool is_name_character(char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kNameMax && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::ranges::all_of(text, is_name_character);
}

bool is_dns_label(std::string_view text) {
  return !text.empty() && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_dns_subdomain(std::string_view text) {
  return text.size() <= kSubdomainMax && std::ranges::all_of(split(text, '.'), is_dns_label);
}

std::string shown(std::string_view text) {
  return isthmus::quoted(shortened(text, kQuotedBytesMax));
}

std::string name_rule() {
  return fmt::format(
      "must be 1 to {} letters, digits, \"-\", \"_\" or \".\", with a letter or digit at both ends",
      kNameMax);
}

constexpr std::string_view kSubdomainRule =
    "must be a DNS name: at most 253 lower-case letters, digits, \"-\" and \".\", with a letter or "
    "digit at the ends and around every dot";

}  // namespace

Result<> check_label_key(std::string_view key) {
  const std::size_t slash = key.find('/');
  const bool prefixed = slash != std::string_view::npos;
  const std::string_view prefix = prefixed ? key.substr(0, slash) : std::string_view{};
  const std::string_view name = prefixed ? key.substr(slash + 1) : key;
  if (prefixed && !is_dns_subdomain(prefix)) {
    return fail(Outcome::invalid,
                fmt::format("key {}: the part before \"/\" {}", shown(key), kSubdomainRule));
  }
  if (!is_name(name)) {
    return fail(Outcome::invalid, fmt::format("key {}: the {} {}", shown(key),
                                              prefixed ? "part after \"/\"" : "name", name_rule()));
  }
  return {};
}

Result<> check_label_value(std::string_view value) {
  if (value.empty() || is_name(value)) return {};
  return fail(Outcome::invalid,
              fmt::format("value {}: unless empty it {}", shown(value), name_rule()));
}

Result<> check_dns_subdomain(std::string_view name) {
  if (is_dns_subdomain(name)) return {};
  return fail(Outcome::invalid, fmt::format("name {}: it {}", shown(name), kSubdomainRule));
}

}  // namespace isthmus::kube

#include "isthmus/infra/api/rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "isthmus/base/text.h"

namespace isthmus::infra::api {
namespace {

constexpr std::string_view kUuidForm = "00000000-0000-0000-0000-000000000000";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_alphanumeric(char c) { return is_lower(c) || is_digit(c); }
bool is_alphanumeric(char c) { return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z'); }

// Begins and ends with an `edge` character, and has only those and the `inner` ones between.
bool is_word(std::string_view text, bool (*edge)(char), std::string_view inner) {
  if (text.empty() || !edge(text.front()) || !edge(text.back())) return false;
  return std::ranges::all_of(
      text, [&](char c) { return edge(c) || inner.find(c) != std::string_view::npos; });
}

bool is_dns_name(std::string_view text, bool (*edge)(char)) {
  if (text.empty() || text.size() > kNameBytesMax) return false;
  return std::ranges::all_of(split(text, '.'), [&](std::string_view label) {
    return label.size() <= kLabelBytesMax && is_word(label, edge, "-");
  });
}

bool is_label_word(std::string_view text) {
  return text.size() <= kLabelBytesMax && is_word(text, is_alphanumeric, "-_.");
}

std::string label_word() {
  return fmt::format(
      "at most {} letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
      kLabelBytesMax);
}

// Also an IPv4 address written as IPv6, which the refusal names as such.
std::optional<IpAddress> read_ip(std::string_view text) {
  if (Result<IpAddress> ip = isthmus::parse_ip(text)) return *ip;
  IpAddress mapped{.family = IpFamily::v6};
  const bool has_end_inside = text.find('\0') != std::string_view::npos;
  if (has_end_inside || inet_pton(AF_INET6, std::string(text).c_str(), mapped.bytes.data()) != 1) {
    return std::nullopt;
  }
  return mapped;
}

// In ::ffff:0:0/96 (RFC 4291, 2.5.5.2).
bool is_mapped(const IpAddress& ip) {
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return ip.family == IpFamily::v6 && std::equal(kMapped.begin(), kMapped.end(), ip.bytes.begin());
}

// What an address is that no machine can have as its own, or that nobody should write like this.
std::optional<std::string_view> why_wrong(const IpAddress& ip) {
  if (is_mapped(ip)) return "an IPv4 address written as IPv6";
  return kind_of_nobody(ip);
}

}  // namespace

std::optional<std::string> wrong_uid(std::string_view text) {
  if (text.size() <= kUidBytesMax && is_word(text, is_alphanumeric, "-_.")) return std::nullopt;
  return fmt::format(
      "expected a uid: 1 to {} letters, digits, '-', '_' and '.', beginning and "
      "ending with a letter or digit",
      kUidBytesMax);
}

std::optional<std::string> wrong_name(std::string_view text) {
  if (is_dns_name(text, is_lower_alphanumeric)) return std::nullopt;
  return fmt::format("expected a lower-case DNS name of at most {} characters, as Nodes have",
                     kNameBytesMax);
}

std::optional<std::string> wrong_object_name(std::string_view text) {
  if (text.size() <= kLabelBytesMax && is_word(text, is_lower_alphanumeric, "-")) {
    return std::nullopt;
  }
  return fmt::format(
      "expected a name: 1 to {} lower-case letters, digits and '-', beginning and ending with a "
      "letter or digit",
      kLabelBytesMax);
}

std::optional<std::string> wrong_label_key(std::string_view text) {
  std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    if (is_label_word(text)) return std::nullopt;
  } else if (is_dns_name(text.substr(0, slash), is_lower_alphanumeric) &&
             is_label_word(text.substr(slash + 1))) {
    return std::nullopt;
  }
  return fmt::format("expected a label key: {}, after an optional DNS name and '/'", label_word());
}

std::optional<std::string> wrong_label_value(std::string_view text) {
  if (text.empty() || is_label_word(text)) return std::nullopt;
  return fmt::format("expected a label value: {}", label_word());
}

std::optional<std::string> wrong_system_uuid(std::string_view text) {
  const std::string canonical = canonical_system_uuid(text);
  bool right = canonical.size() == kUuidForm.size();
  for (std::size_t i = 0; right && i < kUuidForm.size(); ++i) {
    char c = canonical[i];
    right = kUuidForm[i] == '-' ? c == '-' : is_digit(c) || (c >= 'a' && c <= 'f');
  }
  if (right) return std::nullopt;
  return "expected a UUID of 32 hexadecimal digits, written 8-4-4-4-12 or without any '-'";
}

std::string canonical_system_uuid(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  std::string canonical = lower_case(text);
  if (canonical.size() != kDigits) return canonical;
  for (std::size_t i = 0; i < kUuidForm.size(); ++i) {
    if (kUuidForm[i] == '-') canonical.insert(i, 1, '-');
  }
  return canonical;
}

std::optional<std::string> wrong_hostname(std::string_view text) {
  if (is_dns_name(text, is_alphanumeric)) return std::nullopt;
  return fmt::format("expected a host name of at most {} characters", kNameBytesMax);
}

std::optional<std::string> wrong_ip(std::string_view text) {
  const std::optional<IpAddress> ip = read_ip(text);
  if (!ip) return "expected an IP address";
  const std::optional<std::string_view> why = why_wrong(*ip);
  if (!why) return std::nullopt;
  return fmt::format("expected an IP address that one machine can have, not {}", *why);
}

std::optional<std::string> wrong_reachable_ip(std::string_view text) {
  const std::optional<IpAddress> ip = read_ip(text);
  if (ip && is_link_local(*ip)) {
    return "expected an IP address that one machine can have, not a link-local one";
  }
  return wrong_ip(text);
}

std::optional<std::string> canonical_ip(std::string_view text) {
  const std::optional<IpAddress> ip = read_ip(text);
  if (!ip || why_wrong(*ip)) return std::nullopt;
  return to_string(*ip);
}

std::optional<std::string> wrong_network(const IpPrefix& prefix) {
  constexpr std::array<std::string_view, 7> kReserved = {
      "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/8", "fe80::/10", "ff00::/8"};
  for (std::string_view text : kReserved) {
    const IpPrefix reserved = parse_prefix(text).value();
    if (!reserved.contains(prefix) && !prefix.contains(reserved)) continue;
    return fmt::format("{} holds addresses of {}, which can be nobody's", to_string(prefix), text);
  }
  return std::nullopt;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace isthmus::infra::api

#include "isthmus/cloud/ownership.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace isthmus::cloud {
namespace {

constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kBase36Length = 25;  // 36^25 > 2^128.
constexpr std::size_t kKindMax = 11;       // 63 - 2 * 25 - 2 dashes.

__extension__ using Uint128 = unsigned __int128;

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::optional<Uint128> parse_uuid(std::string_view text) {
  if (text.size() != kUuidLength) return std::nullopt;
  Uint128 value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash_place = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash_place != (text[i] == '-')) return std::nullopt;
    if (dash_place) continue;
    const std::optional<unsigned> digit = hex_digit(text[i]);
    if (!digit) return std::nullopt;
    value = value << 4 | *digit;
  }
  return value;
}

std::string base36(Uint128 value) {
  std::string digits(kBase36Length, '0');
  for (auto place = digits.rbegin(); place != digits.rend(); ++place) {
    *place = "0123456789abcdefghijklmnopqrstuvwxyz"[static_cast<unsigned>(value % 36)];
    value /= 36;
  }
  return digits;
}

// What all names of this cluster and kind begin with.
std::string prefix(std::string_view kind, const ClusterUid& cluster) {
  ISTHMUS_ASSERT(!kind.empty() && kind.size() <= kKindMax, "a kind that leaves no room for uids");
  return fmt::format("{}-{}-", kind, base36(*parse_uuid(cluster.text())));
}

}  // namespace

Result<ClusterUid> ClusterUid::parse(std::string_view text) {
  if (!parse_uuid(text)) {
    return fail(Outcome::invalid, fmt::format("cluster uid \"{}\" is not a UUID", text));
  }
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c; });
  return ClusterUid(std::move(lower));
}

Result<std::string> owned_name(std::string_view kind, const ClusterUid& cluster,
                               std::string_view object_uid) {
  const std::optional<Uint128> uid = parse_uuid(object_uid);
  if (!uid) return fail(Outcome::invalid, fmt::format("uid \"{}\" is not a UUID", object_uid));
  return prefix(kind, cluster) + base36(*uid);
}

std::string cluster_name(std::string_view kind, const ClusterUid& cluster) {
  std::string name = prefix(kind, cluster);
  name.pop_back();
  return name;
}

bool is_owned_name(std::string_view name, std::string_view kind, const ClusterUid& cluster) {
  const std::string ours = prefix(kind, cluster);
  return name.starts_with(ours) && name.size() == ours.size() + kBase36Length;
}

}  // namespace isthmus::cloud

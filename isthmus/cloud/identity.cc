#include "isthmus/cloud/identity.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "isthmus/cloud/ip_address.h"

namespace isthmus::cloud {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return result;
}

// The 32 digits of the same UUID with its first three fields in the other byte order.
std::string swapped(std::string_view digits) {
  static constexpr std::array<std::size_t, 8> kPlaces{0, 2, 4, 6, 8, 10, 12, 14};
  static constexpr std::array<std::size_t, 8> kSources{6, 4, 2, 0, 10, 8, 14, 12};
  std::string result(digits);
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    result.replace(kPlaces[i], 2, digits.substr(kSources[i], 2));
  }
  return result;
}

}  // namespace

std::string uuid_key(std::string_view uuid) {
  constexpr std::size_t kDigits = 32;
  std::string key = lower(uuid);
  std::string digits = key;
  std::erase(digits, '-');
  if (digits.size() != kDigits) return key;
  return std::min(swapped(digits), digits);
}

std::string name_key(std::string_view name) { return lower(name); }

std::string ip_key(std::string_view address) {
  const std::optional<IpAddress> parsed = read_ip(address);
  if (!parsed) return std::string(address);
  return std::string(parsed->bytes.begin(), parsed->bytes.begin() + parsed->size());
}

bool matches(const Instance& machine, const InstanceQuery& query) {
  if (query.asks_for_all()) return true;
  if (!query.system_uuid.empty() && uuid_key(query.system_uuid) == uuid_key(machine.system_uuid)) {
    return true;
  }
  const auto has_name = [&](const std::string& name) {
    return name_key(name) == name_key(query.name);
  };
  if (!query.name.empty() && std::ranges::any_of(machine.names, has_name)) return true;
  return std::ranges::any_of(machine.addresses, [&](const Address& address) {
    return address.type == AddressType::internal_ip &&
           std::ranges::any_of(query.internal_ips, [&](const std::string& wanted) {
             return ip_key(wanted) == ip_key(address.address);
           });
  });
}

}  // namespace isthmus::cloud

#include "isthmus/cloud/ip_address.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <arpa/inet.h>

namespace isthmus::cloud {

std::optional<IpAddress> read_ip(std::string_view text) {
  const std::string terminated(text);
  if (terminated.size() != std::char_traits<char>::length(terminated.c_str())) return std::nullopt;

  IpAddress address;
  if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) return address;
  if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) != 1) return std::nullopt;

  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::ranges::equal(kMapped, std::span(address.bytes).first<kMapped.size()>())) {
    std::ranges::copy(std::span(address.bytes).last<4>(), address.bytes.begin());
    std::ranges::fill(std::span(address.bytes).last<12>(), std::uint8_t{0});
    return address;
  }
  address.family = IpFamily::v6;
  return address;
}

bool is_unspecified(const IpAddress& address) { return address.bytes == decltype(address.bytes){}; }

}  // namespace isthmus::cloud

// IP addresses as addresses, not as text: "::1" and "0:0:0:0:0:0:0:1" are one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace isthmus::cloud {

enum class Family : std::uint8_t { v4, v6 };

struct IpAddress {
  Family family = Family::v4;
  std::array<std::uint8_t, 16> bytes{};  // Of an IPv4 address only the first four are used.

  bool unspecified() const { return bytes == decltype(bytes){}; }
  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

// Reads an address without zone, mask or blanks; nullopt for everything else. An IPv4 address in
// IPv6 clothes (::ffff:10.0.0.1) is the IPv4 address, as Go's net.IP and so Kubernetes has it.
std::optional<IpAddress> parse_ip(std::string_view text);

}  // namespace isthmus::cloud

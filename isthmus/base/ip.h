// IP addresses, prefixes and endpoints as the kernel takes them: bytes in network order.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/base/result.h"

namespace isthmus {

enum class IpFamily : std::uint8_t { v4, v6 };

std::string_view to_string(IpFamily family);  // "IPv4", "IPv6"

// An address. The first 4 bytes of a v4 address are used and the others are 0, so that equal
// addresses are equal bytes.
struct IpAddress {
  IpFamily family = IpFamily::v4;
  std::array<std::uint8_t, 16> bytes{};

  std::size_t size() const { return family == IpFamily::v4 ? 4 : 16; }

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

// "192.0.2.1", "2001:db8::1". invalid: anything else, a mapped address ("::ffff:192.0.2.1") too,
// because the kernel would take it for another address than its writer meant.
Result<IpAddress> parse_ip(std::string_view text);

// As inet_ntop writes it.
std::string to_string(const IpAddress& address);

// What an address is that no machine can have as its own ("a loopback address"); nothing for all
// others.
std::optional<std::string_view> kind_of_nobody(const IpAddress& address);

// Whether it is good on one link alone: 169.254.0.0/16, fe80::/10.
bool is_link_local(const IpAddress& address);

// All addresses whose first `bits` bits are those of `address`; the bits behind them are 0.
struct IpPrefix {
  IpAddress address;
  std::uint8_t bits = 0;

  // The last address of the prefix.
  IpAddress last() const;
  bool contains(const IpAddress& other) const;
  bool contains(const IpPrefix& other) const;

  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;
};

// The prefix of so many bits, no more than the address has, in which the address lies.
IpPrefix prefix_around(const IpAddress& address, std::uint8_t bits);

// "192.0.2.0/24". invalid: no prefix, one that is too long, or bits set behind it.
Result<IpPrefix> parse_prefix(std::string_view text);

std::string to_string(const IpPrefix& prefix);

// Where packets go. Port 0 is "nowhere".
struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

// "192.0.2.1:80", "[2001:db8::1]:80".
std::string to_string(const Endpoint& endpoint);

}  // namespace isthmus

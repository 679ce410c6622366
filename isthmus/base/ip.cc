#include "isthmus/base/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "isthmus/base/text.h"

namespace isthmus {
namespace {

// Sets or clears every bit behind the first `bits`.
IpAddress with_rest(const IpAddress& address, std::uint8_t bits, bool ones) {
  IpAddress result = address;
  for (std::size_t i = 0; i < address.size(); ++i) {
    int fixed = std::clamp(static_cast<int>(bits) - static_cast<int>(i) * 8, 0, 8);
    auto rest = static_cast<std::uint8_t>(0xff >> fixed);
    result.bytes[i] = ones ? result.bytes[i] | rest : result.bytes[i] & ~rest;
  }
  return result;
}

bool is_mapped(const IpAddress& address) {
  static constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return address.family == IpFamily::v6 &&
         std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin());
}

}  // namespace

std::string_view to_string(IpFamily family) { return family == IpFamily::v4 ? "IPv4" : "IPv6"; }

Result<IpAddress> parse_ip(std::string_view text) {
  std::string terminated(text);
  IpAddress address;
  // A zero inside would end the text early for inet_pton.
  if (text.find('\0') == text.npos) {
    if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) return address;
    address.family = IpFamily::v6;
    if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1 && !is_mapped(address)) {
      return address;
    }
  }
  return fail(Outcome::invalid, quoted(text) + " is not an IP address");
}

std::string to_string(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.family == IpFamily::v4 ? AF_INET : AF_INET6, address.bytes.data(), text.data(),
            text.size());
  return text.data();
}

std::optional<std::string_view> kind_of_nobody(const IpAddress& address) {
  const auto& bytes = address.bytes;
  if (address.family == IpFamily::v4) {
    if (bytes[0] == 0) return "an unspecified address";
    if (bytes[0] == 127) return "a loopback address";
    if (bytes[0] >= 240) return "a broadcast or reserved address";
    if (bytes[0] >= 224) return "a multicast address";
    return std::nullopt;
  }
  IpAddress one{.family = IpFamily::v6};
  if (address == one) return "an unspecified address";
  one.bytes.back() = 1;
  if (address == one) return "a loopback address";
  if (bytes[0] == 0xff) return "a multicast address";
  return std::nullopt;
}

bool is_link_local(const IpAddress& address) {
  const auto& bytes = address.bytes;
  return address.family == IpFamily::v4 ? bytes[0] == 169 && bytes[1] == 254
                                        : bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

IpAddress IpPrefix::last() const { return with_rest(address, bits, true); }

bool IpPrefix::contains(const IpAddress& other) const {
  return other.family == address.family && prefix_around(other, bits).address == address;
}

bool IpPrefix::contains(const IpPrefix& other) const {
  return other.bits >= bits && contains(other.address);
}

IpPrefix prefix_around(const IpAddress& address, std::uint8_t bits) {
  return {with_rest(address, bits, false), bits};
}

Result<IpPrefix> parse_prefix(std::string_view text) {
  std::size_t slash = text.find('/');
  unsigned bits = 0;
  if (slash != text.npos) {
    const IpAddress address = TRY(parse_ip(text.substr(0, slash)));
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + slash + 1, end, bits);
    if (error == std::errc() && stop == end && bits <= address.size() * 8) {
      IpPrefix prefix{address, static_cast<std::uint8_t>(bits)};
      if (prefix_around(address, prefix.bits) == prefix) return prefix;
      return fail(Outcome::invalid, quoted(text) + " has bits set behind its prefix");
    }
  }
  return fail(Outcome::invalid, quoted(text) + " is not a prefix like 192.0.2.0/24");
}

std::string to_string(const IpPrefix& prefix) {
  return fmt::format("{}/{}", to_string(prefix.address), prefix.bits);
}

std::string to_string(const Endpoint& endpoint) {
  bool v4 = endpoint.address.family == IpFamily::v4;
  return fmt::format(fmt::runtime(v4 ? "{}:{}" : "[{}]:{}"), to_string(endpoint.address),
                     endpoint.port);
}

}  // namespace isthmus

#include "isthmus/infra/drivers/link_frames.h"

#include <net/if_arp.h>

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

namespace isthmus::infra::drivers {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr MacAddress kEverybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr MacAddress kNobody{};
constexpr IpAddress kNone4{IpFamily::v4, {}};
constexpr IpAddress kNone6{IpFamily::v6, {}};
// ff02::1, and its Ethernet address.
constexpr IpAddress kAllNodes{IpFamily::v6, {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
constexpr MacAddress kAllNodesMac{0x33, 0x33, 0, 0, 0, 1};

constexpr std::uint8_t kIcmpv6 = 58;
constexpr std::uint8_t kSolicitation = 135;
constexpr std::uint8_t kAdvertisement = 136;
constexpr std::uint8_t kTargetLinkAddress = 2;  // An option: type, length in 8 bytes, address.
// Says that no router has passed the packet on, so it is from the link itself.
constexpr std::uint8_t kOnLinkHopLimit = 255;

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kArpBytes = 28;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kDiscoveryBytes = 24;  // Without options.

void add(Frame& frame, Bytes bytes) { frame.insert(frame.end(), bytes.begin(), bytes.end()); }
void add(Frame& frame, std::initializer_list<std::uint8_t> bytes) {
  frame.insert(frame.end(), bytes);
}

Bytes bytes_of(const IpAddress& address) { return {address.bytes.data(), address.size()}; }

// Before the sender's and the target's addresses: Ethernet, IPv4, their sizes.
constexpr std::array<std::uint8_t, 7> kArpHead{0, 1, 0x08, 0x00, 6, 4, 0};

Frame arp_frame(std::uint8_t operation, const MacAddress& mac, const IpAddress& sender,
                const MacAddress& target_mac, const IpAddress& target) {
  Frame frame;
  add(frame, kEverybody);
  add(frame, mac);
  add(frame, {0x08, 0x06});  // EtherType
  add(frame, kArpHead);
  add(frame, {operation});
  add(frame, mac);
  add(frame, bytes_of(sender));
  add(frame, target_mac);
  add(frame, bytes_of(target));
  return frame;
}

// RFC 1071, over the pseudo header of RFC 8200 and the message.
std::uint16_t checksum(const IpAddress& from, const IpAddress& to, const Frame& message) {
  Frame all;
  add(all, bytes_of(from));
  add(all, bytes_of(to));
  add(all, {0, 0, 0, static_cast<std::uint8_t>(message.size()), 0, 0, 0, kIcmpv6});
  add(all, message);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < all.size(); i += 2) sum += all[i] << 8 | all[i + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

Frame discovery_frame(const MacAddress& mac, const IpAddress& from, const MacAddress& to_mac,
                      const IpAddress& to, Frame message) {
  std::uint16_t sum = checksum(from, to, message);
  message[2] = static_cast<std::uint8_t>(sum >> 8);
  message[3] = static_cast<std::uint8_t>(sum);
  Frame frame;
  add(frame, to_mac);
  add(frame, mac);
  add(frame, {0x86, 0xdd});
  add(frame,
      {0x60, 0, 0, 0, 0, static_cast<std::uint8_t>(message.size()), kIcmpv6, kOnLinkHopLimit});
  add(frame, bytes_of(from));
  add(frame, bytes_of(to));
  add(frame, message);
  return frame;
}

Frame advertisement_frame(const IpAddress& address, const MacAddress& mac) {
  Frame message{kAdvertisement, 0, 0, 0, 0x20, 0, 0, 0};  // Override
  add(message, bytes_of(address));
  add(message, {kTargetLinkAddress, 1});
  add(message, mac);
  return discovery_frame(mac, address, kAllNodesMac, kAllNodes, message);
}

// To the group of all addresses with these last three bytes (ff02::1:ffxx:xxxx).
Frame solicitation_frame(const IpAddress& address, const MacAddress& mac) {
  Frame message{kSolicitation, 0, 0, 0, 0, 0, 0, 0};
  add(message, bytes_of(address));
  IpAddress group{IpFamily::v6, {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}};
  std::copy_n(address.bytes.end() - 3, 3, group.bytes.end() - 3);
  MacAddress group_mac{0x33, 0x33};
  std::copy_n(group.bytes.end() - 4, 4, group_mac.end() - 4);
  return discovery_frame(mac, kNone6, group_mac, group, message);
}

MacAddress mac_at(Bytes bytes, std::size_t offset) {
  MacAddress mac;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), mac.size(), mac.begin());
  return mac;
}

IpAddress address_at(Bytes bytes, std::size_t offset, IpFamily family) {
  IpAddress address{family, {}};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), address.size(),
              address.bytes.begin());
  return address;
}

std::optional<Claim> arp_claim(Bytes arp) {
  if (arp.size() < kArpBytes || !std::ranges::equal(arp.first(kArpHead.size()), kArpHead)) {
    return std::nullopt;
  }
  MacAddress mac = mac_at(arp, 8);
  IpAddress sender = address_at(arp, 14, IpFamily::v4);
  if (sender != kNone4) return Claim{sender, mac};
  IpAddress target = address_at(arp, 24, IpFamily::v4);
  if (arp[7] != ARPOP_REQUEST || target == kNone4) return std::nullopt;
  return Claim{target, mac, true};
}

// Of an advertisement, who has the address may be another than who says so: a proxy.
MacAddress advertised_mac(Bytes options, const MacAddress& sender) {
  while (options.size() >= 8 && options[1] != 0) {
    std::size_t bytes = std::size_t{options[1]} * 8;
    if (options[0] == kTargetLinkAddress) return mac_at(options, 2);
    if (bytes > options.size()) break;
    options = options.subspan(bytes);
  }
  return sender;
}

std::optional<Claim> discovery_claim(Bytes packet, const MacAddress& mac) {
  if (packet.size() < kIpv6Bytes + kDiscoveryBytes || packet[6] != kIcmpv6 ||
      packet[7] != kOnLinkHopLimit) {
    return std::nullopt;
  }
  Bytes message = packet.subspan(kIpv6Bytes);
  IpAddress target = address_at(message, 8, IpFamily::v6);
  if (message[0] == kAdvertisement) {
    return Claim{target, advertised_mac(message.subspan(kDiscoveryBytes), mac)};
  }
  if (message[0] != kSolicitation) return std::nullopt;
  IpAddress source = address_at(packet, 8, IpFamily::v6);
  if (source == kNone6) return Claim{target, mac, true};
  return Claim{source, mac};
}

}  // namespace

std::string to_string(const MacAddress& mac) { return fmt::format("{:02x}", fmt::join(mac, ":")); }

std::vector<Frame> announcement_frames(const IpAddress& address, const MacAddress& mac) {
  if (address.family == IpFamily::v6) return {advertisement_frame(address, mac)};
  return {arp_frame(ARPOP_REQUEST, mac, address, kNobody, address),
          arp_frame(ARPOP_REPLY, mac, address, mac, address)};
}

Frame probe_frame(const IpAddress& address, const MacAddress& mac) {
  if (address.family == IpFamily::v6) return solicitation_frame(address, mac);
  return arp_frame(ARPOP_REQUEST, mac, kNone4, kNobody, address);
}

std::optional<Claim> claim_in(Bytes frame) {
  if (frame.size() < kEthernetBytes) return std::nullopt;
  Bytes inside = frame.subspan(kEthernetBytes);
  if (frame[12] == 0x08 && frame[13] == 0x06) return arp_claim(inside);
  if (frame[12] == 0x86 && frame[13] == 0xdd) return discovery_claim(inside, mac_at(frame, 6));
  return std::nullopt;
}

}  // namespace isthmus::infra::drivers

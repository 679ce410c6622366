#include "isthmus/infra/drivers/announcement.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {
namespace {

using Frame = std::vector<std::uint8_t>;

constexpr MacAddress kEverybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr MacAddress kNobody{};
// RFC 2464: the Ethernet address of ff02::1, all nodes.
constexpr MacAddress kAllNodesMac{0x33, 0x33, 0, 0, 0, 1};
constexpr std::array<std::uint8_t, 16> kAllNodes{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr std::uint8_t kIcmpv6 = 58;

void add(Frame& frame, std::span<const std::uint8_t> bytes) {
  frame.insert(frame.end(), bytes.begin(), bytes.end());
}
void add(Frame& frame, std::initializer_list<std::uint8_t> bytes) {
  frame.insert(frame.end(), bytes);
}

std::span<const std::uint8_t> bytes_of(const IpAddress& address) {
  return {address.bytes.data(), address.size()};
}

Frame arp_frame(const IpAddress& address, const MacAddress& mac, std::uint8_t operation) {
  Frame frame;
  add(frame, kEverybody);
  add(frame, mac);
  add(frame, {0x08, 0x06});                            // EtherType
  add(frame, {0, 1, 0x08, 0x00, 6, 4, 0, operation});  // Ethernet, IPv4, their sizes
  add(frame, mac);
  add(frame, bytes_of(address));
  add(frame, operation == ARPOP_REQUEST ? kNobody : mac);
  add(frame, bytes_of(address));
  return frame;
}

// RFC 1071, over the pseudo header of RFC 8200 and the message.
std::uint16_t checksum(const IpAddress& source, const Frame& message) {
  Frame all;
  add(all, bytes_of(source));
  add(all, kAllNodes);
  add(all, {0, 0, 0, static_cast<std::uint8_t>(message.size()), 0, 0, 0, kIcmpv6});
  add(all, message);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < all.size(); i += 2) sum += all[i] << 8 | all[i + 1];
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

Frame advertisement_frame(const IpAddress& address, const MacAddress& mac) {
  Frame message{136, 0, 0, 0, 0x20, 0, 0, 0};  // Neighbour advertisement; override
  add(message, bytes_of(address));
  add(message, {2, 1});  // Option: target link-layer address, 8 bytes
  add(message, mac);
  std::uint16_t sum = checksum(address, message);
  message[2] = static_cast<std::uint8_t>(sum >> 8);
  message[3] = static_cast<std::uint8_t>(sum);

  Frame frame;
  add(frame, kAllNodesMac);
  add(frame, mac);
  add(frame, {0x86, 0xdd});
  // Version 6, the length, and a hop limit of 255, which says that no router has passed it on.
  add(frame, {0x60, 0, 0, 0, 0, static_cast<std::uint8_t>(message.size()), kIcmpv6, 255});
  add(frame, bytes_of(address));
  add(frame, kAllNodes);
  add(frame, message);
  return frame;
}

std::unexpected<Error> failed(const std::string& interface) {
  int error_number = errno;
  Outcome outcome = error_number == ENETDOWN ? Outcome::busy : outcome_of(error_number);
  return fail(outcome, fmt::format("{}: {}", interface, std::strerror(error_number)));
}

}  // namespace

std::vector<Frame> announcement_frames(const IpAddress& address, const MacAddress& mac) {
  if (address.family == IpFamily::v6) return {advertisement_frame(address, mac)};
  return {arp_frame(address, mac, ARPOP_REQUEST), arp_frame(address, mac, ARPOP_REPLY)};
}

Result<LinkAnnouncer> LinkAnnouncer::open() {
  // Of protocol 0: it only sends.
  int socket = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return failed("opening a raw socket");
  return LinkAnnouncer(socket);
}

LinkAnnouncer::LinkAnnouncer(LinkAnnouncer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)) {}

LinkAnnouncer::~LinkAnnouncer() {
  if (socket_ >= 0) ::close(socket_);
}

Result<> LinkAnnouncer::announce(const IpAddress& address, const std::string& interface) {
  // The kernel takes names shorter than this only; a longer one cannot be there.
  ifreq request{};
  if (interface.size() >= sizeof request.ifr_name) {
    return fail(Outcome::absent, fmt::format("{}: no interface has such a name", interface));
  }
  std::ranges::copy(interface, request.ifr_name);
  if (::ioctl(socket_, SIOCGIFHWADDR, &request) != 0) return failed(interface);
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
    return fail(Outcome::unsupported, fmt::format("{} is no Ethernet", interface));
  }
  MacAddress mac;
  std::memcpy(mac.data(), request.ifr_hwaddr.sa_data, mac.size());
  if (::ioctl(socket_, SIOCGIFINDEX, &request) != 0) return failed(interface);

  sockaddr_ll link{};
  link.sll_family = AF_PACKET;
  link.sll_protocol = htons(address.family == IpFamily::v4 ? ETH_P_ARP : ETH_P_IPV6);
  link.sll_ifindex = request.ifr_ifindex;
  link.sll_halen = static_cast<unsigned char>(mac.size());
  for (const Frame& frame : announcement_frames(address, mac)) {
    if (::sendto(socket_, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&link),
                 sizeof link) < 0) {
      return failed(interface);
    }
  }
  return {};
}

}  // namespace isthmus::infra::drivers

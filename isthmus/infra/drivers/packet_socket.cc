#include "isthmus/infra/drivers/packet_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {
namespace {

// The frames of interest have at most 86 bytes; the kernel counts about 700 for each in the buffer,
// so 1,000 answers that come at once have room.
constexpr std::size_t kFrameBytesMax = 256;
constexpr int kReceiveBufferBytes = 1024 * 1024;
// A flood must not keep the loop; what is left comes with the next call.
constexpr int kFramesPerCallMax = 4096;

// Programs that the kernel asks of each packet how many bytes of it are wanted.
std::array<sock_filter, 1> kNothing{{BPF_STMT(BPF_RET | BPF_K, 0)}};
std::array<sock_filter, 1> kEverything{{BPF_STMT(BPF_RET | BPF_K, kFrameBytesMax)}};
// Neighbour solicitations (135) and advertisements (136) that follow the IPv6 header directly, as
// RFC 4861 has them. Offsets count from the Ethernet header.
std::array<sock_filter, 7> kNeighbours{{
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14 + 6),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 58, 0, 4),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14 + 40),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 135, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 136, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, kFrameBytesMax),
    BPF_STMT(BPF_RET | BPF_K, 0),
}};

std::unexpected<Error> failed(std::string_view what) {
  int error_number = errno;
  Outcome outcome = error_number == ENETDOWN ? Outcome::busy : outcome_of(error_number);
  return fail(outcome, fmt::format("{}: {}", what, std::strerror(error_number)));
}

sockaddr_ll address_of(FrameKind kind, int index) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(static_cast<std::uint16_t>(kind));
  address.sll_ifindex = index;
  address.sll_halen = static_cast<unsigned char>(MacAddress{}.size());
  return address;
}

packet_mreq all_groups(int index) {
  packet_mreq request{};
  request.mr_ifindex = index;
  request.mr_type = PACKET_MR_ALLMULTI;
  return request;
}

}  // namespace

Result<PacketSocket> PacketSocket::open(FrameKind kind) {
  int descriptor = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return failed("opening a raw socket");
  PacketSocket socket(descriptor, kind);
  if (::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &kReceiveBufferBytes,
                   sizeof kReceiveBufferBytes) != 0) {
    (void)::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &kReceiveBufferBytes,
                       sizeof kReceiveBufferBytes);
  }
  return socket;
}

PacketSocket::PacketSocket(PacketSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      kind_(other.kind_),
      on_link_(other.on_link_),
      joined_(std::move(other.joined_)) {}

PacketSocket::~PacketSocket() {
  if (socket_ >= 0) ::close(socket_);
}

Result<EthernetLink> PacketSocket::link(const std::string& interface) const {
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
  EthernetLink link;
  std::memcpy(link.mac.data(), request.ifr_hwaddr.sa_data, link.mac.size());
  if (::ioctl(socket_, SIOCGIFINDEX, &request) != 0) return failed(interface);
  link.index = request.ifr_ifindex;
  if (::ioctl(socket_, SIOCGIFFLAGS, &request) != 0) return failed(interface);
  link.carrier = (request.ifr_flags & IFF_UP) != 0 && (request.ifr_flags & IFF_RUNNING) != 0;
  return link;
}

Result<> PacketSocket::send(const EthernetLink& link, std::span<const std::uint8_t> frame) {
  sockaddr_ll address = address_of(kind_, link.index);
  if (::sendto(socket_, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&address),
               sizeof address) < 0) {
    return failed("sending a frame");
  }
  return {};
}

Result<> PacketSocket::filter(bool deaf) {
  std::span<sock_filter> wanted =
      kind_ == FrameKind::arp ? std::span<sock_filter>(kEverything) : kNeighbours;
  if (deaf) wanted = kNothing;
  sock_fprog program{static_cast<unsigned short>(wanted.size()), wanted.data()};
  if (::setsockopt(socket_, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
    return failed("filtering a raw socket");
  }
  return {};
}

Result<> PacketSocket::listen() {
  TRY(filter(false));
  if (on_link_) return {};
  sockaddr_ll every = address_of(kind_, 0);
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&every), sizeof every) != 0) {
    return failed("listening to a link");
  }
  on_link_ = true;
  return {};
}

void PacketSocket::deaf() {
  (void)filter(true);
  for (int index : std::exchange(joined_, {})) {
    packet_mreq request = all_groups(index);
    (void)::setsockopt(socket_, SOL_PACKET, PACKET_DROP_MEMBERSHIP, &request, sizeof request);
  }
  (void)receive([](std::span<const std::uint8_t>, int) {});
}

Result<> PacketSocket::listen_to_all_groups(const EthernetLink& link) {
  if (std::ranges::find(joined_, link.index) != joined_.end()) return {};
  packet_mreq request = all_groups(link.index);
  if (::setsockopt(socket_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request) != 0) {
    return failed("listening to all groups of a link");
  }
  joined_.push_back(link.index);
  return {};
}

Result<> PacketSocket::receive(
    const std::function<void(std::span<const std::uint8_t>, int)>& each) {
  for (int i = 0; i < kFramesPerCallMax; ++i) {
    std::array<std::uint8_t, kFrameBytesMax> frame;
    sockaddr_ll from{};
    socklen_t length = sizeof from;
    ssize_t got = ::recvfrom(socket_, frame.data(), frame.size(), MSG_DONTWAIT,
                             reinterpret_cast<sockaddr*>(&from), &length);
    if (got < 0 && errno == EAGAIN) return {};
    // An interface went down: said once to each socket, and of no interest to one that hears all.
    if (got < 0 && (errno == EINTR || errno == ENETDOWN)) continue;
    if (got < 0) return failed("receiving from a link");
    each(std::span(frame).first(static_cast<std::size_t>(got)), from.sll_ifindex);
  }
  return {};
}

}  // namespace isthmus::infra::drivers

// A raw socket of whole Ethernet frames, and what it must know of an interface to send them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/infra/drivers/link_frames.h"

namespace isthmus::infra::drivers {

struct EthernetLink {
  int index = 0;
  MacAddress mac{};
  bool carrier = false;  // Up, with somebody at the other end. What is sent without one is lost.
};

// What is received; the value is its EtherType.
enum class FrameKind : std::uint16_t {
  arp = 0x0806,
  ipv6_neighbours = 0x86dd,  // Solicitations and advertisements only; others stay in the kernel.
};

// A resource; movable, because it is nothing but the owner of a descriptor.
class PacketSocket {
 public:
  // In the network namespace of the caller, in which the socket then stays. It receives nothing
  // yet. denied: no CAP_NET_RAW.
  static Result<PacketSocket> open(FrameKind kind);

  PacketSocket(PacketSocket&& other) noexcept;
  PacketSocket& operator=(PacketSocket&&) = delete;
  ~PacketSocket();

  // absent: no such interface. unsupported: it has no Ethernet address (a loopback, a tunnel).
  Result<EthernetLink> link(const std::string& interface) const;

  // ok: it is on its way; nobody confirms a frame. busy: the interface is down or its queue full.
  Result<> send(const EthernetLink& link, std::span<const std::uint8_t> frame);

  // From now on frames of its kind are received, of all interfaces, until deaf(). Those that we
  // send are not among them. A deaf socket costs a few nanoseconds per packet of its protocol, but
  // only one that has never listened costs nothing: taking it off the link again would wait some
  // 15 ms for the kernel's other processors.
  Result<> listen();
  void deaf();

  // Groups that the kernel has not joined are received on this interface as well, until deaf().
  Result<> listen_to_all_groups(const EthernetLink& link);

  // Calls with every frame received since the last call and the index of its interface; waits for
  // none. Frames beyond the receive buffer were dropped, unseen.
  Result<> receive(const std::function<void(std::span<const std::uint8_t> frame, int link)>& each);

 private:
  PacketSocket(int socket, FrameKind kind) : socket_(socket), kind_(kind) {}
  Result<> filter(bool deaf);

  int socket_;
  FrameKind kind_;
  bool on_link_ = false;
  std::vector<int> joined_;  // Interfaces of which we receive all groups.
};

}  // namespace isthmus::infra::drivers

#include "isthmus/infra/drivers/announcement.h"

#include <utility>

namespace isthmus::infra::drivers {

Result<LinkAnnouncer> LinkAnnouncer::open() {
  PacketSocket v4 = TRY(PacketSocket::open(FrameKind::arp));
  PacketSocket v6 = TRY(PacketSocket::open(FrameKind::ipv6_neighbours));
  return LinkAnnouncer(std::move(v4), std::move(v6));
}

Result<> LinkAnnouncer::announce(const IpAddress& address, const std::string& interface) {
  PacketSocket& socket = address.family == IpFamily::v4 ? v4_ : v6_;
  const EthernetLink link = TRY(socket.link(interface));
  for (const Frame& frame : announcement_frames(address, link.mac)) {
    Result<> sent = socket.send(link, frame);
    if (!sent) return fail(interface, sent.error());
  }
  return {};
}

}  // namespace isthmus::infra::drivers

// Tells the link that an address is here: neighbours that knew it elsewhere send to us from now on.
// Without this, an address that moved stayed unreachable for over 48 s (IPv4) and 18 s (IPv6).
//
// Sources: RFC 5227 section 3 (ARP announcements), RFC 4861 section 7.2.6 (unsolicited neighbour
// advertisements).
#pragma once

#include <string>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"
#include "isthmus/infra/drivers/packet_socket.h"

namespace isthmus::infra::drivers {

// A resource; no call waits.
class Announcer {
 public:
  virtual ~Announcer() = default;

  // Tells once; when and how often is the caller's affair (announcement_schedule.h). Nobody
  // confirms it, so ok means "sent". absent: no such interface. unsupported: it has no Ethernet
  // address (a loopback has none to tell). busy: the interface is down or its queue full.
  virtual Result<> announce(const IpAddress& address, const std::string& interface) = 0;
};

// In the network namespace of the caller of open(). Needs CAP_NET_RAW.
class LinkAnnouncer final : public Announcer {
 public:
  static Result<LinkAnnouncer> open();

  Result<> announce(const IpAddress& address, const std::string& interface) override;

 private:
  LinkAnnouncer(PacketSocket v4, PacketSocket v6) : v4_(std::move(v4)), v6_(std::move(v6)) {}

  PacketSocket v4_;
  PacketSocket v6_;
};

}  // namespace isthmus::infra::drivers

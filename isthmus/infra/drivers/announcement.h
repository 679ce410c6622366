// Tells the link that an address is here: neighbours that knew it elsewhere send to us from now on.
// Without this, an address that moved stayed unreachable for over 48 s (IPv4) and 18 s (IPv6).
//
// Sources: RFC 5227 section 3 (ARP announcements), RFC 4861 section 7.2.6 (unsolicited neighbour
// advertisements).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/base/ip.h"
#include "isthmus/base/result.h"

namespace isthmus::infra::drivers {

using MacAddress = std::array<std::uint8_t, 6>;

// The Ethernet frames of one announcement: for IPv4 an ARP request and a reply, since some hosts
// heed only the one or the other; for IPv6 an advertisement with the override flag to all nodes.
std::vector<std::vector<std::uint8_t>> announcement_frames(const IpAddress& address,
                                                           const MacAddress& mac);

// A resource: a raw socket in the network namespace of the caller. Needs CAP_NET_RAW.
class LinkAnnouncer {
 public:
  static Result<LinkAnnouncer> open();
  LinkAnnouncer(LinkAnnouncer&& other) noexcept;
  LinkAnnouncer& operator=(LinkAnnouncer&&) = delete;
  ~LinkAnnouncer();

  // Sends the frames once; when and how often is the caller's affair. Nobody confirms them, so ok
  // means "sent". absent: no such interface. unsupported: it has no Ethernet address (a loopback
  // has none to tell). busy: the interface is down or its queue full.
  Result<> announce(const IpAddress& address, const std::string& interface);

 private:
  explicit LinkAnnouncer(int socket) : socket_(socket) {}

  int socket_;
};

}  // namespace isthmus::infra::drivers

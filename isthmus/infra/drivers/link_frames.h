// The Ethernet frames by which the hosts of a link agree on who has an address: ARP for IPv4,
// neighbour discovery for IPv6. Values only; packet_socket.h sends and receives them.
//
// Sources: RFC 826 and RFC 5227 (ARP, probes, announcements), RFC 4861 (neighbour discovery),
// RFC 4862 section 5.4 (duplicate address detection), RFC 2464 (IPv6 over Ethernet).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isthmus/base/ip.h"

namespace isthmus::infra::drivers {

using MacAddress = std::array<std::uint8_t, 6>;
using Frame = std::vector<std::uint8_t>;

// "02:00:00:00:00:07".
std::string to_string(const MacAddress& mac);

// "It is here": for IPv4 an ARP request and a reply, since some hosts heed only the one or the
// other; for IPv6 an unsolicited advertisement with the override flag to all nodes.
std::vector<Frame> announcement_frames(const IpAddress& address, const MacAddress& mac);

// "Who has it?", asked by somebody who has no address yet, so that no neighbour learns anything:
// for IPv4 an ARP request from 0.0.0.0, for IPv6 a solicitation from ::.
Frame probe_frame(const IpAddress& address, const MacAddress& mac);

// Somebody of the link has an address, or wants it.
struct Claim {
  IpAddress address;
  MacAddress mac{};
  bool probing = false;  // They only ask for it, as probe_frame() does: they do not have it yet.

  friend auto operator<=>(const Claim&, const Claim&) = default;
};

// What a frame says of its sender. None: it is no ARP and no neighbour discovery, says nothing of
// an address, or is cut off. Whether the sender is ourselves is for the caller to see.
std::optional<Claim> claim_in(std::span<const std::uint8_t> frame);

}  // namespace isthmus::infra::drivers

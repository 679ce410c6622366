// Ends UDP flows whose target is gone. nftables chooses a target for the first packet of a flow
// only; a TCP flow to a removed target may finish in peace, but a UDP "flow" lasts as long as its
// client goes on sending, into nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "isthmus/infra/drivers/driver.h"
#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {

// Flows through a listener to a target.
struct GoneTarget {
  ListenerKey listener;
  Endpoint target;

  friend auto operator<=>(const GoneTarget&, const GoneTarget&) = default;
};

// Removes the conntrack entries of these UDP flows, and how many that were; the next datagram of
// each begins a new flow. Others' flows are not touched. The socket is of NETLINK_NETFILTER. Reads
// all UDP entries of the namespace, about 1 µs each, unless there is nothing to end. An entry that
// has ended by itself meanwhile is no error; errors are those of NetlinkSocket.
Result<std::size_t> end_udp_flows(std::vector<GoneTarget> gone, NetlinkSocket& socket);

}  // namespace isthmus::infra::drivers

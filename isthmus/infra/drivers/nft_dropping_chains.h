// Chains of others that drop what is forwarded: what a load balancer sends on passes them as well,
// and where one drops it, everything is programmed and nothing arrives.
#pragma once

#include <string>
#include <vector>

#include "isthmus/base/result.h"
#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {

// The base chains of all tables but ours that see what this host forwards and whose policy is to
// drop, sorted: "ip filter FORWARD". Whether a rule of theirs lets our packets through, nobody can
// say but by sending some. Those of iptables-legacy are not to be seen here. The socket is of
// NETLINK_NETFILTER. busy: the chains changed meanwhile.
Result<std::vector<std::string>> dropping_chains(NetlinkSocket& socket);

}  // namespace isthmus::infra::drivers

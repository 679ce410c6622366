// Entries of the kernel's connection tracking as netlink messages. For the sources of this folder.
#pragma once

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "isthmus/infra/drivers/driver.h"
#include "isthmus/infra/drivers/netlink_attributes_impl.h"
#include "isthmus/infra/drivers/netlink_socket.h"

namespace isthmus::infra::drivers {

inline constexpr std::size_t kConntrackMessageBytesMax = 512;

// Of type IPCTNL_MSG_CT_…, for one family, in room that is zeroed.
inline nlmsghdr* put_conntrack_message(char* room, std::uint16_t type, std::uint16_t flags,
                                       IpFamily family, NetlinkSocket& socket) {
  nlmsghdr* header = mnl_nlmsg_put_header(room);
  header->nlmsg_type = static_cast<std::uint16_t>(NFNL_SUBSYS_CTNETLINK << 8 | type);
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  header->nlmsg_seq = socket.next_sequence();
  auto* netfilter = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(nfgenmsg)));
  netfilter->nfgen_family = family == IpFamily::v4 ? AF_INET : AF_INET6;
  netfilter->version = NFNETLINK_V0;
  return header;
}

struct FlowEnd {
  Protocol protocol;
  Endpoint endpoint;
};

// The protocol, the address and the port on one side of a tuple, if it is of TCP or UDP.
inline std::optional<FlowEnd> end_of(const nlattr* tuple, IpFamily family, bool source) {
  Attributes parts = nested(tuple);
  Attributes addresses = nested(parts[CTA_TUPLE_IP]);
  Attributes protocol = nested(parts[CTA_TUPLE_PROTO]);
  const nlattr* address = family == IpFamily::v4
                              ? addresses[source ? CTA_IP_V4_SRC : CTA_IP_V4_DST]
                              : addresses[source ? CTA_IP_V6_SRC : CTA_IP_V6_DST];
  FlowEnd end{Protocol::tcp, {{family, {}}, 0}};
  std::uint8_t number = number_in<std::uint8_t>(protocol[CTA_PROTO_NUM], 0);
  if (address == nullptr || mnl_attr_get_payload_len(address) != end.endpoint.address.size() ||
      (number != IPPROTO_TCP && number != IPPROTO_UDP)) {
    return std::nullopt;
  }
  if (number == IPPROTO_UDP) end.protocol = Protocol::udp;
  std::ranges::copy(inside(address), end.endpoint.address.bytes.begin());
  end.endpoint.port = ntohs(
      number_in<std::uint16_t>(protocol[source ? CTA_PROTO_SRC_PORT : CTA_PROTO_DST_PORT], 0));
  return end;
}

}  // namespace isthmus::infra::drivers

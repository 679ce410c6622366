#include "isthmus/infra/drivers/conntrack.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>

#include <algorithm>
#include <optional>

#include "isthmus/infra/drivers/netlink_attributes_impl.h"

namespace isthmus::infra::drivers {
namespace {

constexpr std::size_t kMessageBytesMax = 512;

std::uint8_t number_of(IpFamily family) { return family == IpFamily::v4 ? AF_INET : AF_INET6; }

nlmsghdr* a_message(char* room, std::uint16_t type, std::uint16_t flags, IpFamily family,
                    NetlinkSocket& socket) {
  nlmsghdr* header = mnl_nlmsg_put_header(room);
  header->nlmsg_type = static_cast<std::uint16_t>(NFNL_SUBSYS_CTNETLINK << 8 | type);
  header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  header->nlmsg_seq = socket.next_sequence();
  auto* netfilter = static_cast<nfgenmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(nfgenmsg)));
  netfilter->nfgen_family = number_of(family);
  netfilter->version = NFNETLINK_V0;
  return header;
}

// The address and the port on one side of a tuple, if they are of UDP.
std::optional<Endpoint> end_of(const nlattr* tuple, IpFamily family, bool source) {
  Attributes parts = nested(tuple);
  Attributes addresses = nested(parts[CTA_TUPLE_IP]);
  Attributes protocol = nested(parts[CTA_TUPLE_PROTO]);
  const nlattr* address = family == IpFamily::v4
                              ? addresses[source ? CTA_IP_V4_SRC : CTA_IP_V4_DST]
                              : addresses[source ? CTA_IP_V6_SRC : CTA_IP_V6_DST];
  Endpoint endpoint{{family, {}}, 0};
  if (address == nullptr || mnl_attr_get_payload_len(address) != endpoint.address.size() ||
      number_in<std::uint8_t>(protocol[CTA_PROTO_NUM], 0) != IPPROTO_UDP) {
    return std::nullopt;
  }
  std::ranges::copy(inside(address), endpoint.address.bytes.begin());
  endpoint.port = ntohs(
      number_in<std::uint16_t>(protocol[source ? CTA_PROTO_SRC_PORT : CTA_PROTO_DST_PORT], 0));
  return endpoint;
}

void put(nlmsghdr* header, const nlattr* attribute) {
  if (attribute == nullptr) return;
  mnl_attr_put(header, attribute->nla_type, mnl_attr_get_payload_len(attribute),
               mnl_attr_get_payload(attribute));
}

// A request to remove this very entry; its id keeps a successor of the same addresses alive.
NetlinkMessages removal_of(const Attributes& entry, IpFamily family, NetlinkSocket& socket) {
  NetlinkMessages removal;
  removal.add(kMessageBytesMax, [&](char* room) {
    nlmsghdr* header = a_message(room, IPCTNL_MSG_CT_DELETE, NLM_F_ACK, family, socket);
    put(header, entry[CTA_TUPLE_ORIG]);
    put(header, entry[CTA_ZONE]);
    put(header, entry[CTA_ID]);
  });
  return removal;
}

// Requests to remove what is to be ended, of one family.
Result<std::vector<NetlinkMessages>> removals(const std::vector<GoneTarget>& gone, IpFamily family,
                                              NetlinkSocket& socket) {
  std::vector<NetlinkMessages> found;
  NetlinkMessages request;
  request.add(kMessageBytesMax,
              [&](char* room) { a_message(room, IPCTNL_MSG_CT_GET, NLM_F_DUMP, family, socket); });
  TRY(socket.dump(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    Attributes entry = attributes_of(inside(header));
    std::optional<Endpoint> destination = end_of(entry[CTA_TUPLE_ORIG], family, false);
    std::optional<Endpoint> target = end_of(entry[CTA_TUPLE_REPLY], family, true);
    if (!destination || !target) return {};
    GoneTarget flow{{destination->address, Protocol::udp, destination->port}, *target};
    if (std::ranges::binary_search(gone, flow)) {
      found.push_back(removal_of(entry, family, socket));
    }
    return {};
  }));
  return found;
}

}  // namespace

Result<std::size_t> end_udp_flows(std::vector<GoneTarget> gone, NetlinkSocket& socket) {
  std::ranges::sort(gone);
  std::size_t ended = 0;
  for (IpFamily family : {IpFamily::v4, IpFamily::v6}) {
    bool any = std::ranges::any_of(gone, [&](const GoneTarget& one) {
      return one.listener.protocol == Protocol::udp && one.listener.address.family == family;
    });
    if (!any) continue;
    const std::vector<NetlinkMessages> found = TRY(removals(gone, family, socket));
    for (const NetlinkMessages& removal : found) {
      std::uint32_t sequence = reinterpret_cast<const nlmsghdr*>(removal.bytes().data())->nlmsg_seq;
      Result<> removed = socket.transact(removal.bytes(), sequence);
      if (!removed && removed.outcome() != Outcome::absent) {
        return fail("ending a UDP flow", removed.error());
      }
      ++ended;
    }
  }
  return ended;
}

}  // namespace isthmus::infra::drivers

#include "isthmus/infra/drivers/conntrack.h"

#include <algorithm>
#include <optional>

#include "isthmus/infra/drivers/conntrack_impl.h"

namespace isthmus::infra::drivers {
namespace {

void put(nlmsghdr* header, const nlattr* attribute) {
  if (attribute == nullptr) return;
  mnl_attr_put(header, attribute->nla_type, mnl_attr_get_payload_len(attribute),
               mnl_attr_get_payload(attribute));
}

// A request to remove this very entry; its id keeps a successor of the same addresses alive.
NetlinkMessages removal_of(const Attributes& entry, IpFamily family, NetlinkSocket& socket) {
  NetlinkMessages removal;
  removal.add(kConntrackMessageBytesMax, [&](char* room) {
    nlmsghdr* header = put_conntrack_message(room, IPCTNL_MSG_CT_DELETE, NLM_F_ACK, family, socket);
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
  request.add(kConntrackMessageBytesMax, [&](char* room) {
    put_conntrack_message(room, IPCTNL_MSG_CT_GET, NLM_F_DUMP, family, socket);
  });
  TRY(socket.dump(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    Attributes entry = attributes_of(inside(header));
    std::optional<FlowEnd> to = end_of(entry[CTA_TUPLE_ORIG], family, false);
    std::optional<FlowEnd> target = end_of(entry[CTA_TUPLE_REPLY], family, true);
    if (!to || !target || to->protocol != Protocol::udp) return {};
    GoneTarget flow{{to->endpoint.address, to->protocol, to->endpoint.port}, target->endpoint};
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

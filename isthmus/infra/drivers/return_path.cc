#include "isthmus/infra/drivers/return_path.h"

#include <linux/netfilter/nf_conntrack_common.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "isthmus/infra/drivers/conntrack_impl.h"

namespace isthmus::infra::drivers {
namespace {

struct Entry {
  std::uint32_t number;
  Endpoint client;
  ListenerKey listener;  // What the client asked for.
};

// Calls with every TCP and UDP entry of a family that was given a target, kept its client's
// address, and whose answer was seen or not. Where the client was masqueraded all the same, because
// it is a neighbour of the target, the answer comes back whatever the gateways are, and proves
// nothing.
Result<> each_entry(IpFamily family, bool answered, NetlinkSocket& socket,
                    const std::function<void(const Entry&)>& each) {
  constexpr std::uint32_t kMask = IPS_SEEN_REPLY | IPS_DST_NAT | IPS_SRC_NAT;
  const std::uint32_t wanted = IPS_DST_NAT | (answered ? IPS_SEEN_REPLY : 0);
  NetlinkMessages request;
  request.add(kConntrackMessageBytesMax, [&](char* room) {
    nlmsghdr* header = put_conntrack_message(room, IPCTNL_MSG_CT_GET, NLM_F_DUMP, family, socket);
    mnl_attr_put_u32(header, CTA_STATUS, htonl(wanted));
    mnl_attr_put_u32(header, CTA_STATUS_MASK, htonl(kMask));
  });
  return socket.dump(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    Attributes entry = attributes_of(inside(header));
    std::uint32_t status = ntohl(number_in<std::uint32_t>(entry[CTA_STATUS], 0));
    if ((status & kMask) != wanted) return {};
    std::optional<FlowEnd> from = end_of(entry[CTA_TUPLE_ORIG], family, true);
    std::optional<FlowEnd> to = end_of(entry[CTA_TUPLE_ORIG], family, false);
    if (!from || !to) return {};
    each({number_in<std::uint32_t>(entry[CTA_ID], 0),
          from->endpoint,
          {to->endpoint.address, to->protocol, to->endpoint.port}});
    return {};
  });
}

constexpr std::array kFamilies{IpFamily::v4, IpFamily::v6};

// Those of which any listener has one.
bool concerns(IpFamily family, const std::set<ListenerKey>& listeners) {
  return std::ranges::any_of(listeners,
                             [&](const ListenerKey& one) { return one.address.family == family; });
}

}  // namespace

bool return_path_missing(const FlowHealth& flows) {
  return flows.listener.protocol == Protocol::tcp && flows.unreplied > 0 && flows.replied == 0;
}

Result<std::vector<FlowHealth>> ReturnPaths::look(const std::set<ListenerKey>& listeners) {
  std::map<Flow, Unanswered> found;
  for (IpFamily family : kFamilies) {
    if (concerns(family, listeners)) TRY(read_unanswered(family, listeners, found));
  }
  std::map<ListenerKey, FlowHealth> health;
  std::set<ListenerKey> affected;
  for (const auto& [flow, unanswered] : found) {
    if (clock_.now() - unanswered.since < kReplyPatience) continue;
    FlowHealth& one = health[unanswered.listener];
    one.listener = unanswered.listener;
    ++one.unreplied;
    affected.insert(unanswered.listener);
  }
  for (IpFamily family : kFamilies) {
    if (concerns(family, affected)) TRY(count_answered(family, health));
  }
  unanswered_ = std::move(found);
  std::vector<FlowHealth> all;
  for (const auto& [listener, one] : health) all.push_back(one);
  return all;
}

Result<> ReturnPaths::read_unanswered(IpFamily family, const std::set<ListenerKey>& listeners,
                                      std::map<Flow, Unanswered>& found) {
  return each_entry(family, false, socket_, [&](const Entry& entry) {
    if (found.size() >= kRememberedMax || !listeners.contains(entry.listener)) return;
    Flow flow{entry.number, entry.client};
    auto known = unanswered_.find(flow);
    bool same = known != unanswered_.end() && known->second.listener == entry.listener;
    found.emplace(flow, Unanswered{entry.listener, same ? known->second.since : clock_.now()});
  });
}

Result<> ReturnPaths::count_answered(IpFamily family, std::map<ListenerKey, FlowHealth>& health) {
  return each_entry(family, true, socket_, [&](const Entry& entry) {
    if (auto one = health.find(entry.listener); one != health.end()) ++one->second.replied;
  });
}

}  // namespace isthmus::infra::drivers

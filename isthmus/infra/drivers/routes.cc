#include "isthmus/infra/drivers/routes.h"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "isthmus/infra/drivers/netlink_attributes_impl.h"

namespace isthmus::infra::drivers {
namespace {

// A route with two addresses and three numbers takes 100 bytes.
constexpr std::size_t kMessageBytesMax = 256;

// Sent at once: in a socket that an ordinary user opened 200 messages and their answers fit, and
// more at once are hardly quicker.
constexpr std::size_t kMessagesPerCall = 200;

std::uint8_t number_of(IpFamily family) { return family == IpFamily::v4 ? AF_INET : AF_INET6; }

std::optional<IpAddress> address_in(const nlattr* attribute, IpFamily family) {
  IpAddress address{.family = family};
  const std::span<const char> bytes = inside(attribute);
  if (bytes.size() != address.size()) return std::nullopt;
  std::ranges::copy(bytes, address.bytes.begin());
  return address;
}

// Names of interfaces by their numbers. Each is asked for once.
class InterfaceNames {
 public:
  const std::string& name_of(std::uint32_t index) {
    auto [place, is_new] = names_.try_emplace(index);
    std::array<char, IF_NAMESIZE> name{};
    if (is_new && ::if_indextoname(index, name.data()) != nullptr) place->second = name.data();
    return place->second;
  }

 private:
  std::map<std::uint32_t, std::string> names_;
};

// What an RTM_NEWROUTE says; nothing for what is no route to a network of ours to look at.
std::optional<TakenRoute> read_route(const nlmsghdr& header, InterfaceNames& names) {
  if (header.nlmsg_type != RTM_NEWROUTE) return std::nullopt;
  if (mnl_nlmsg_get_payload_len(&header) < sizeof(rtmsg)) return std::nullopt;
  const auto* fixed = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&header));
  if (fixed->rtm_family != AF_INET && fixed->rtm_family != AF_INET6) return std::nullopt;
  const IpFamily family = fixed->rtm_family == AF_INET ? IpFamily::v4 : IpFamily::v6;
  const Attributes parts = attributes_of(inside(header, sizeof(rtmsg)));
  TakenRoute route{.destination = {.address = {.family = family}, .bits = fixed->rtm_dst_len},
                   .protocol = fixed->rtm_protocol,
                   .metric = number_in<std::uint32_t>(parts[RTA_PRIORITY], 0),
                   .next_hop = address_in(parts[RTA_GATEWAY], family)};
  // A default route has none.
  if (auto destination = address_in(parts[RTA_DST], family)) {
    route.destination.address = *destination;
  }
  const auto index = number_in<std::uint32_t>(parts[RTA_OIF], 0);
  if (index != 0) route.interface = names.name_of(index);
  return route;
}

void put_address(nlmsghdr* header, std::uint16_t type, const IpAddress& address) {
  mnl_attr_put(header, type, address.size(), address.bytes.data());
}

// The second address of the prefix, which a host may have: the first stands for the network, and of
// IPv6 for any of its routers.
IpAddress first_host_of(const IpPrefix& prefix) {
  IpAddress address = prefix.address;
  if (prefix.bits < address.size() * 8) address.bytes.at(address.size() - 1) |= 1;
  return address;
}

bool is_said(const IpAddress& next_hop) { return next_hop != IpAddress{}; }

// `index` is the number of the route's interface.
void build(nlmsghdr* header, const RouteChange& change, unsigned index, std::uint32_t sequence) {
  using Kind = RouteChange::Kind;
  const bool goes = change.kind == Kind::remove;
  header->nlmsg_type = goes ? RTM_DELROUTE : RTM_NEWROUTE;
  header->nlmsg_flags = NLM_F_REQUEST;
  if (change.kind == Kind::add) header->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
  if (change.kind == Kind::replace) header->nlmsg_flags |= NLM_F_REPLACE;
  header->nlmsg_seq = sequence;
  auto* fixed = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(rtmsg)));
  fixed->rtm_family = number_of(change.route.destination.address.family);
  fixed->rtm_dst_len = change.route.destination.bits;
  fixed->rtm_table = RT_TABLE_MAIN;
  fixed->rtm_protocol = kRouteProtocol;
  fixed->rtm_scope = goes ? RT_SCOPE_NOWHERE : RT_SCOPE_UNIVERSE;
  fixed->rtm_type = goes ? RTN_UNSPEC : RTN_UNICAST;
  put_address(header, RTA_DST, change.route.destination.address);
  if (is_said(change.route.next_hop)) put_address(header, RTA_GATEWAY, change.route.next_hop);
  if (index != 0) mnl_attr_put_u32(header, RTA_OIF, index);
  mnl_attr_put_u32(header, RTA_PRIORITY, kRouteMetric);
}

struct Named {
  std::uint8_t number;
  std::string_view name;
};

// The names that `ip route` shows for the protocols of others one meets.
constexpr std::array kProtocols = {Named{RTPROT_REDIRECT, "redirect"},
                                   Named{RTPROT_KERNEL, "kernel"},
                                   Named{RTPROT_BOOT, "boot"},
                                   Named{RTPROT_STATIC, "static"},
                                   Named{RTPROT_RA, "ra"},
                                   Named{RTPROT_ZEBRA, "zebra"},
                                   Named{RTPROT_BIRD, "bird"},
                                   Named{RTPROT_DHCP, "dhcp"},
                                   Named{RTPROT_KEEPALIVED, "keepalived"},
                                   Named{RTPROT_BABEL, "babel"},
                                   Named{RTPROT_BGP, "bgp"},
                                   Named{RTPROT_ISIS, "isis"},
                                   Named{RTPROT_OSPF, "ospf"},
                                   Named{RTPROT_RIP, "rip"},
                                   Named{RTPROT_EIGRP, "eigrp"}};

}  // namespace

std::string to_string(const TakenRoute& route) {
  std::string text = to_string(route.destination);
  if (route.next_hop) text += " via " + to_string(*route.next_hop);
  if (!route.interface.empty()) text += " dev " + route.interface;
  const auto* known = std::ranges::find(kProtocols, route.protocol, &Named::number);
  text += " proto ";
  text += known == kProtocols.end() ? std::to_string(route.protocol) : std::string(known->name);
  return text + fmt::format(" metric {}", route.metric);
}

Result<KernelRoutes> KernelRoutes::open() {
  NetlinkSocket socket = TRY(NetlinkSocket::open(NETLINK_ROUTE));
  TRY(socket.check_strictly());
  return KernelRoutes(std::move(socket));
}

Result<> KernelRoutes::add_held(IpFamily family, std::vector<HostRoute>& held) {
  NetlinkMessages request;
  request.add(kMessageBytesMax, [&](char* room) {
    nlmsghdr* header = mnl_nlmsg_put_header(room);
    header->nlmsg_type = RTM_GETROUTE;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    header->nlmsg_seq = socket_.next_sequence();
    auto* fixed = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(rtmsg)));
    fixed->rtm_family = number_of(family);
    fixed->rtm_table = RT_TABLE_MAIN;
    fixed->rtm_protocol = kRouteProtocol;
  });
  InterfaceNames names;
  Result<> dumped = socket_.dump(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    const std::optional<TakenRoute> route = read_route(header, names);
    if (!route || !route->is_ours()) return {};
    held.push_back({route->destination, route->next_hop.value_or(IpAddress{}), route->interface});
    return {};
  });
  // A table without routes may not be there yet, and a family may be switched off.
  const bool none = dumped.outcome() == Outcome::absent || dumped.outcome() == Outcome::unsupported;
  return none ? Result<>{} : dumped;
}

Result<std::vector<HostRoute>> KernelRoutes::observe() {
  std::vector<HostRoute> held;
  for (IpFamily family : {IpFamily::v4, IpFamily::v6}) TRY(add_held(family, held));
  std::ranges::sort(held);
  return held;
}

// The kernel tells the errors of all messages; the last asks for nothing, and its acknowledgement
// says that all before it were looked at.
Result<> KernelRoutes::apply_some(std::span<const RouteChange> changes,
                                  std::span<std::optional<Error>> refused) {
  NetlinkMessages messages;
  std::map<std::uint32_t, std::size_t> place_of;  // By the number of the message.
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const HostRoute& route = changes[i].route;
    const unsigned index = ::if_nametoindex(route.interface.c_str());
    if (index == 0 && !route.interface.empty()) {
      // What went through it went with it.
      refused[i] = Error{Outcome::absent, "this host has no interface " + route.interface};
      continue;
    }
    const std::uint32_t sequence = socket_.next_sequence();
    place_of[sequence] = i;
    messages.add(kMessageBytesMax, [&](char* room) {
      build(mnl_nlmsg_put_header(room), changes[i], index, sequence);
    });
  }
  const std::uint32_t last = socket_.next_sequence();
  messages.add(kMessageBytesMax, [&](char* room) {
    nlmsghdr* header = mnl_nlmsg_put_header(room);
    header->nlmsg_type = NLMSG_NOOP;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    header->nlmsg_seq = last;
  });
  bool answered = false;
  TRY(socket_.send_each(messages.bytes(),
                        [&](std::uint32_t sequence, const nlmsghdr*, const Error* error) {
                          answered = answered || sequence == last;
                          auto place = place_of.find(sequence);
                          if (error != nullptr && place != place_of.end())
                            refused[place->second] = *error;
                        }));
  if (answered) return {};
  return fail(Outcome::lost, "the kernel acknowledged no change of routes");
}

Result<RouteBook::Refusals> KernelRoutes::apply(std::span<const RouteChange> changes) {
  Refusals refused(changes.size());
  std::span<std::optional<Error>> left = refused;
  while (!changes.empty()) {
    const std::size_t count = std::min(changes.size(), kMessagesPerCall);
    TRY(apply_some(changes.first(count), left.first(count)));
    changes = changes.subspan(count);
    left = left.subspan(count);
  }
  return refused;
}

Result<> KernelRoutes::ask_some(std::span<const IpPrefix> destinations,
                                std::span<std::optional<TakenRoute>> taken) {
  NetlinkMessages messages;
  std::map<std::uint32_t, std::size_t> place_of;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const IpAddress address = first_host_of(destinations[i]);
    const std::uint32_t sequence = socket_.next_sequence();
    place_of[sequence] = i;
    messages.add(kMessageBytesMax, [&](char* room) {
      nlmsghdr* header = mnl_nlmsg_put_header(room);
      header->nlmsg_type = RTM_GETROUTE;
      header->nlmsg_flags = NLM_F_REQUEST;
      header->nlmsg_seq = sequence;
      auto* fixed = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(rtmsg)));
      fixed->rtm_family = number_of(address.family);
      fixed->rtm_dst_len = static_cast<std::uint8_t>(address.size() * 8);
      fixed->rtm_flags = RTM_F_FIB_MATCH;
      put_address(header, RTA_DST, address);
    });
  }
  InterfaceNames names;
  return socket_.send_each(messages.bytes(),
                           [&](std::uint32_t sequence, const nlmsghdr* answer, const Error*) {
                             auto place = place_of.find(sequence);
                             if (answer != nullptr && place != place_of.end()) {
                               taken[place->second] = read_route(*answer, names);
                             }
                           });
}

Result<RouteBook::TakenRoutes> KernelRoutes::taken(std::span<const IpPrefix> destinations) {
  TakenRoutes taken(destinations.size());
  std::span<std::optional<TakenRoute>> left = taken;
  while (!destinations.empty()) {
    const std::size_t count = std::min(destinations.size(), kMessagesPerCall);
    TRY(ask_some(destinations.first(count), left.first(count)));
    destinations = destinations.subspan(count);
    left = left.subspan(count);
  }
  return taken;
}

}  // namespace isthmus::infra::drivers

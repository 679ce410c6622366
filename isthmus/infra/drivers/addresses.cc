#include "isthmus/infra/drivers/addresses.h"

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "isthmus/infra/drivers/netlink_attributes_impl.h"

namespace isthmus::infra::drivers {
namespace {

constexpr std::size_t kMessageBytesMax = 256;

std::uint8_t single_bits(const IpAddress& address) {
  return static_cast<std::uint8_t>(address.size() * 8);
}

// What an RTM_NEWADDR says; nothing for families other than ours.
std::optional<InterfaceAddress> read_address(const nlmsghdr& header, int& index) {
  if (mnl_nlmsg_get_payload_len(&header) < sizeof(ifaddrmsg)) return std::nullopt;
  const auto* fixed = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(&header));
  if (fixed->ifa_family != AF_INET && fixed->ifa_family != AF_INET6) return std::nullopt;
  Attributes parts = attributes_of(inside(header, sizeof(ifaddrmsg)));
  // On a point-to-point link IFA_ADDRESS is the other end's.
  const nlattr* bytes = parts[IFA_LOCAL] != nullptr ? parts[IFA_LOCAL] : parts[IFA_ADDRESS];
  InterfaceAddress one;
  one.address.family = fixed->ifa_family == AF_INET ? IpFamily::v4 : IpFamily::v6;
  if (bytes == nullptr || mnl_attr_get_payload_len(bytes) != one.address.size()) {
    return std::nullopt;
  }
  std::ranges::copy(inside(bytes), one.address.bytes.begin());
  one.bits = fixed->ifa_prefixlen;
  one.ours = number_in<std::uint8_t>(parts[IFA_PROTO], 0) == kAddressProtocol;
  index = static_cast<int>(fixed->ifa_index);
  return one;
}

}  // namespace

Result<std::string> interface_for(const IpAddress& address,
                                  const std::vector<InterfaceAddress>& present,
                                  const std::string& fallback) {
  const InterfaceAddress* best = nullptr;
  for (const InterfaceAddress& one : present) {
    if (one.ours || one.bits == single_bits(one.address)) continue;
    if (!prefix_around(one.address, one.bits).contains(address)) continue;
    if (best == nullptr || one.bits > best->bits) best = &one;
  }
  if (best != nullptr) return best->interface;
  if (!fallback.empty()) return fallback;
  return fail(Outcome::invalid,
              fmt::format("no interface of this host is connected to {}, and its pool names none",
                          to_string(address)));
}

std::vector<IpPrefix> links_of(const std::vector<InterfaceAddress>& present) {
  std::vector<IpPrefix> links;
  for (const InterfaceAddress& one : present) {
    if (one.ours || one.bits == single_bits(one.address)) continue;
    links.push_back(prefix_around(one.address, one.bits));
  }
  std::ranges::sort(links);
  auto repeated = std::ranges::unique(links);
  links.erase(repeated.begin(), repeated.end());
  return links;
}

Result<std::vector<InterfaceAddresses::Link>> InterfaceAddresses::links() {
  NetlinkMessages request;
  request.add(kMessageBytesMax, [&](char* room) {
    nlmsghdr* header = mnl_nlmsg_put_header(room);
    header->nlmsg_type = RTM_GETLINK;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    header->nlmsg_seq = socket_.next_sequence();
    mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg));
  });
  std::vector<Link> found;
  TRY(socket_.dump(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    const nlattr* name = attributes_of(inside(header, sizeof(ifinfomsg)))[IFLA_IFNAME];
    if (name == nullptr || mnl_attr_validate(name, MNL_TYPE_NUL_STRING) < 0) return {};
    const auto* fixed = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&header));
    const bool up = (fixed->ifi_flags & IFF_UP) != 0 && (fixed->ifi_flags & IFF_RUNNING) != 0;
    found.push_back({fixed->ifi_index, mnl_attr_get_str(name), !up});
    return {};
  }));
  return found;
}

Result<int> InterfaceAddresses::index_of(const std::string& interface) {
  const std::string absent = fmt::format("this host has no interface {}", interface);
  if (interface.size() >= IFNAMSIZ) return fail(Outcome::absent, absent);
  NetlinkMessages request;
  request.add(kMessageBytesMax, [&](char* room) {
    nlmsghdr* header = mnl_nlmsg_put_header(room);
    header->nlmsg_type = RTM_GETLINK;
    header->nlmsg_flags = NLM_F_REQUEST;
    header->nlmsg_seq = socket_.next_sequence();
    mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg));
    mnl_attr_put_strz(header, IFLA_IFNAME, interface.c_str());
  });
  int index = 0;
  Result<> found = socket_.ask(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    index = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&header))->ifi_index;
    return {};
  });
  if (found.outcome() == Outcome::absent) return fail(Outcome::absent, absent);
  if (!found) return std::unexpected(std::move(found).error());
  return index;
}

Result<std::vector<InterfaceAddress>> InterfaceAddresses::observe() {
  const std::vector<Link> all = TRY(links());
  NetlinkMessages request;
  request.add(kMessageBytesMax, [&](char* room) {
    nlmsghdr* header = mnl_nlmsg_put_header(room);
    header->nlmsg_type = RTM_GETADDR;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    header->nlmsg_seq = socket_.next_sequence();
    mnl_nlmsg_put_extra_header(header, sizeof(ifaddrmsg));
  });
  std::vector<InterfaceAddress> found;
  TRY(socket_.dump(request.bytes(), [&](const nlmsghdr& header) -> Result<> {
    int index = 0;
    std::optional<InterfaceAddress> one = read_address(header, index);
    auto link = std::ranges::find(all, index, &Link::index);
    // An interface that came between the two dumps is seen the next time.
    if (!one || link == all.end()) return {};
    one->interface = link->name;
    one->link_down = link->down;
    found.push_back(*std::move(one));
    return {};
  }));
  std::ranges::sort(found);
  return found;
}

Result<> InterfaceAddresses::request(std::uint16_t type, std::uint16_t flags,
                                     const IpAddress& address, int index) {
  bool v4 = address.family == IpFamily::v4;
  std::uint32_t sequence = socket_.next_sequence();
  NetlinkMessages message;
  message.add(kMessageBytesMax, [&](char* room) {
    nlmsghdr* header = mnl_nlmsg_put_header(room);
    header->nlmsg_type = type;
    header->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    header->nlmsg_seq = sequence;
    auto* fixed = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifaddrmsg)));
    fixed->ifa_family = v4 ? AF_INET : AF_INET6;
    fixed->ifa_prefixlen = single_bits(address);
    fixed->ifa_scope = RT_SCOPE_UNIVERSE;
    fixed->ifa_index = static_cast<std::uint32_t>(index);
    mnl_attr_put(header, IFA_LOCAL, address.size(), address.bytes.data());
    mnl_attr_put(header, IFA_ADDRESS, address.size(), address.bytes.data());
    if (type != RTM_NEWADDR) return;
    mnl_attr_put_u8(header, IFA_PROTO, kAddressProtocol);
    if (v4) return;
    mnl_attr_put_u32(header, IFA_FLAGS, IFA_F_NODAD);
    constexpr std::uint32_t kForever = std::numeric_limits<std::uint32_t>::max();
    ifa_cacheinfo lifetime{};
    lifetime.ifa_valid = kForever;
    lifetime.ifa_prefered = 0;
    mnl_attr_put(header, IFA_CACHEINFO, sizeof lifetime, &lifetime);
  });
  return socket_.transact(message.bytes(), sequence);
}

Result<> InterfaceAddresses::bind(const BoundAddress& address) {
  int index = TRY(index_of(address.interface));
  return request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, address.address, index);
}

Result<> InterfaceAddresses::unbind(const BoundAddress& address) {
  // Looked up anew: what we bound once may be somebody else's by now.
  const std::vector<InterfaceAddress> present = TRY(observe());
  auto found = std::ranges::find_if(present, [&](const InterfaceAddress& one) {
    return one.address == address.address && one.interface == address.interface &&
           one.bits == single_bits(one.address);
  });
  if (found == present.end()) {
    return fail(Outcome::absent,
                fmt::format("{} is not on {}", to_string(address.address), address.interface));
  }
  if (!found->ours) {
    return fail(Outcome::conflict, fmt::format("{} on {} was not bound by us",
                                               to_string(address.address), address.interface));
  }
  int index = TRY(index_of(address.interface));
  return request(RTM_DELADDR, 0, address.address, index);
}

}  // namespace isthmus::infra::drivers

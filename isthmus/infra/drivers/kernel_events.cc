#include "isthmus/infra/drivers/kernel_events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "isthmus/infra/drivers/netlink_attributes_impl.h"
#include "isthmus/infra/drivers/netlink_socket.h"
#include "isthmus/infra/drivers/nft_rules.h"
#include "isthmus/infra/drivers/routes.h"

namespace isthmus::infra::drivers {
namespace {

constexpr std::size_t kEventBytesMax = 32 * 1024;
// A storm of events must not keep the loop; one that is known to have happened needs no more.
constexpr int kDatagramsPerCallMax = 256;

std::uint32_t group(std::uint32_t number) { return 1U << (number - 1); }

std::unexpected<Error> failed(std::string_view what) {
  int error_number = errno;
  return fail(outcome_of(error_number), fmt::format("{}: {}", what, std::strerror(error_number)));
}

Result<> attach(mnl_socket* socket, std::span<sock_filter> program) {
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_ATTACH_FILTER, &filter,
                   sizeof filter) != 0) {
    return failed("leaving out our own events");
  }
  return {};
}

// Our own changes of 100,000 elements would fill any buffer, so the kernel drops their events
// before they get into it. All messages of one datagram come from one transaction.
Result<> leave_out(mnl_socket* socket, std::uint32_t port) {
  std::array<sock_filter, 4> program{{
      // As the machine keeps it; the load takes it for network order.
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(nlmsghdr, nlmsg_pid)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  }};
  return attach(socket, program);
}

// Of a host that has the routes of the whole internet all but those with our protocol number are
// dropped before they get here, and of these the ones we change. A datagram is one route.
Result<> leave_out_routes(mnl_socket* socket, std::uint32_t port) {
  constexpr std::uint32_t kProtocolAt = sizeof(nlmsghdr) + offsetof(rtmsg, rtm_protocol);
  std::array<sock_filter, 6> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(nlmsghdr, nlmsg_pid)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(port), 2, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kProtocolAt),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kRouteProtocol, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  }};
  return attach(socket, program);
}

// Calls with each message of each datagram that waits. False: some were lost.
template <class Look>
Result<bool> each_event(mnl_socket* socket, Look look) {
  alignas(nlmsghdr) std::array<char, kEventBytesMax> room;
  bool whole = true;
  for (int i = 0; i < kDatagramsPerCallMax; ++i) {
    ssize_t got =
        ::recv(mnl_socket_get_fd(socket), room.data(), room.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && errno == EAGAIN) return whole;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != ENOBUFS) return failed("reading events of the kernel");
    if (got < 0 || got > static_cast<ssize_t>(room.size())) {
      whole = false;
      continue;
    }
    int left = static_cast<int>(got);
    for (const auto* header = reinterpret_cast<const nlmsghdr*>(room.data());
         mnl_nlmsg_ok(header, left); header = mnl_nlmsg_next(header, &left)) {
      look(*header);
    }
  }
  return whole;
}

// In every message of nf_tables about something in a table, its name is attribute 1.
bool is_about_our_table(const nlmsghdr& header) {
  if (header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES) return false;
  if ((header.nlmsg_type & 0xff) == NFT_MSG_NEWGEN) return false;
  std::span<const char> attributes = inside(header);
  if (attributes.empty()) return false;
  const auto* netfilter = static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(&header));
  std::span<const char> name = inside(attributes_of(attributes)[NFTA_TABLE_NAME]);
  return netfilter->nfgen_family == NFPROTO_INET && !name.empty() &&
         std::string_view(name.data(), name.size() - 1) == kTableName;
}

}  // namespace

void KernelEvents::Closer::operator()(mnl_socket* socket) const { (void)mnl_socket_close(socket); }

KernelEvents::KernelEvents(Socket network, Socket rules, Socket routes)
    : network_(std::move(network)), rules_(std::move(rules)), routes_(std::move(routes)) {}
KernelEvents::KernelEvents(KernelEvents&&) noexcept = default;
KernelEvents::~KernelEvents() = default;

Result<KernelEvents::Socket> KernelEvents::subscribe(int protocol, std::uint32_t groups) {
  Socket socket(mnl_socket_open2(protocol, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket == nullptr) return failed("opening a netlink socket");
  if (mnl_socket_bind(socket.get(), groups, MNL_SOCKET_AUTOPID) != 0) {
    return failed("listening to the kernel");
  }
  return socket;
}

Result<KernelEvents> KernelEvents::open(std::uint32_t own_rules_port,
                                        std::uint32_t own_routes_port) {
  Socket network = TRY(subscribe(NETLINK_ROUTE, group(RTNLGRP_LINK) | group(RTNLGRP_IPV4_IFADDR) |
                                                    group(RTNLGRP_IPV6_IFADDR)));
  Socket rules = TRY(subscribe(NETLINK_NETFILTER, group(NFNLGRP_NFTABLES)));
  TRY(leave_out(rules.get(), own_rules_port));
  Socket routes =
      TRY(subscribe(NETLINK_ROUTE, group(RTNLGRP_IPV4_ROUTE) | group(RTNLGRP_IPV6_ROUTE)));
  TRY(leave_out_routes(routes.get(), own_routes_port));
  return KernelEvents(std::move(network), std::move(rules), std::move(routes));
}

void KernelEvents::ignore_rules(bool on) {
  int group_number = NFNLGRP_NFTABLES;
  (void)mnl_socket_setsockopt(rules_.get(), on ? NETLINK_DROP_MEMBERSHIP : NETLINK_ADD_MEMBERSHIP,
                              &group_number, sizeof group_number);
}

Result<KernelChanges> KernelEvents::drain() {
  KernelChanges changes;
  const bool all_of_network = TRY(each_event(network_.get(), [&](const nlmsghdr& header) {
    switch (header.nlmsg_type) {
      case RTM_NEWLINK:
      case RTM_DELLINK:
        changes.links = true;
        break;
      case RTM_NEWADDR:
      case RTM_DELADDR:
        changes.addresses = true;
        break;
      default:
        break;
    }
  }));
  if (!all_of_network) changes.links = changes.addresses = true;
  const bool all_of_rules = TRY(each_event(rules_.get(), [&](const nlmsghdr& header) {
    if (!changes.rules) changes.rules = is_about_our_table(header);
  }));
  if (!all_of_rules) changes.rules = true;
  const bool all_of_routes =
      TRY(each_event(routes_.get(), [&](const nlmsghdr&) { changes.routes = true; }));
  if (!all_of_routes) changes.routes = true;
  return changes;
}

}  // namespace isthmus::infra::drivers

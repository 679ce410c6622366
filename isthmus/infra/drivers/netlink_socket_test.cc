#include "isthmus/infra/drivers/netlink_socket.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>

namespace isthmus::infra::drivers {
namespace {

// A request of the routing family with a fixed part of zeros.
NetlinkMessages request(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence) {
  NetlinkMessages messages;
  messages.add(64, [&](char* room) {
    nlmsghdr header{};
    header.nlmsg_len = NLMSG_LENGTH(sizeof(ifinfomsg));
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = sequence;
    std::memcpy(room, &header, sizeof header);
  });
  return messages;
}

TEST(netlink_socket, the_kernels_errors_name_our_reaction) {
  EXPECT_EQ(outcome_of(0), Outcome::ok);
  EXPECT_EQ(outcome_of(ENOENT), Outcome::absent);
  EXPECT_EQ(outcome_of(EEXIST), Outcome::conflict);
  EXPECT_EQ(outcome_of(ERESTART), Outcome::conflict);
  EXPECT_EQ(outcome_of(ENOBUFS), Outcome::busy);
  EXPECT_EQ(outcome_of(EINTR), Outcome::busy);
  EXPECT_EQ(outcome_of(EPERM), Outcome::denied);
  EXPECT_EQ(outcome_of(EOPNOTSUPP), Outcome::unsupported);
  EXPECT_EQ(outcome_of(EMSGSIZE), Outcome::invalid);
  EXPECT_EQ(outcome_of(EIO), Outcome::lost);
}

TEST(netlink_socket, a_dump_ends_with_the_last_message) {
  NetlinkSocket socket = NetlinkSocket::open(NETLINK_ROUTE).value();
  for (int time = 0; time < 2; ++time) {
    int links = 0;
    NetlinkMessages dump = request(RTM_GETLINK, NLM_F_DUMP, socket.next_sequence());
    EXPECT_TRUE(socket.dump(dump.bytes(), [&](const nlmsghdr& header) -> Result<> {
      links += header.nlmsg_type == RTM_NEWLINK;
      return {};
    }));
    EXPECT_GE(links, 1) << "there is always a loopback";
  }
}

TEST(netlink_socket, what_an_ended_dump_left_behind_is_no_answer_to_the_next) {
  NetlinkSocket socket = NetlinkSocket::open(NETLINK_ROUTE).value();
  NetlinkMessages dump = request(RTM_GETLINK, NLM_F_DUMP, socket.next_sequence());
  Result<> stopped = socket.dump(
      dump.bytes(), [](const nlmsghdr&) -> Result<> { return fail(Outcome::invalid, "enough"); });
  EXPECT_EQ(stopped.outcome(), Outcome::invalid);
  NetlinkMessages again = request(RTM_GETADDR, NLM_F_DUMP, socket.next_sequence());
  EXPECT_TRUE(socket.dump(again.bytes(), [](const nlmsghdr& header) -> Result<> {
    EXPECT_EQ(header.nlmsg_type, RTM_NEWADDR);
    return {};
  }));
}

// By the message that ends it, as the kernel does since 4.20.
TEST(netlink_socket, a_dump_that_the_kernel_refuses_is_no_empty_one) {
  NetlinkSocket socket = NetlinkSocket::open(NETLINK_ROUTE).value();
  ASSERT_TRUE(socket.check_strictly());
  NetlinkMessages dump;
  dump.add(64, [&](char* room) {
    nlmsghdr header{};
    header.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg));
    header.nlmsg_type = RTM_GETROUTE;
    header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    header.nlmsg_seq = socket.next_sequence();
    std::memcpy(room, &header, sizeof header);
    rtmsg fixed{};
    fixed.rtm_family = AF_INET;
    fixed.rtm_table = 177;  // There is no such table.
    std::memcpy(room + NLMSG_HDRLEN, &fixed, sizeof fixed);
  });
  Result<> dumped = socket.dump(dump.bytes(), [](const nlmsghdr&) -> Result<> { return {}; });
  EXPECT_EQ(dumped.outcome(), Outcome::absent);
}

TEST(netlink_socket, a_refusal_is_an_outcome_with_the_kernels_words) {
  NetlinkSocket socket = NetlinkSocket::open(NETLINK_ROUTE).value();
  std::uint32_t sequence = socket.next_sequence();
  NetlinkMessages nonsense = request(RTM_GETLINK, NLM_F_ACK, sequence);
  Result<> refused = socket.transact(nonsense.bytes(), sequence);
  EXPECT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("the kernel refuses")) << refused.error().message;
}

TEST(netlink_socket, silence_of_the_kernel_is_lost) {
  NetlinkSocket socket = NetlinkSocket::open(NETLINK_ROUTE).value();
  NetlinkMessages noop = request(NLMSG_NOOP, 0, socket.next_sequence());
  EXPECT_EQ(socket.transact(noop.bytes(), 99).outcome(), Outcome::lost);
}

TEST(netlink_socket, more_than_the_socket_takes_is_refused_by_us) {
  NetlinkSocket socket = NetlinkSocket::open(NETLINK_ROUTE).value();
  EXPECT_GT(socket.request_bytes_max(), 64u * 1024);
  std::vector<char> large(socket.request_bytes_max() + 1);
  EXPECT_EQ(socket.transact(large, 1).outcome(), Outcome::invalid);
}

}  // namespace
}  // namespace isthmus::infra::drivers

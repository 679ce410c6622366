#include "isthmus/infra/drivers/conntrack.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include "isthmus/infra/drivers/balanced_testing.h"

namespace isthmus::infra::drivers {
namespace {

using namespace testing;

class ConntrackTest : public BalancedTest {};

TEST_F(ConntrackTest, only_udp_flows_through_the_listener_to_the_target_end) {
  make_so({a_balancer(Protocol::udp), a_balancer(Protocol::tcp)});
  Traffic udp = machines4(Protocol::udp);
  Traffic tcp = machines4(Protocol::tcp);
  std::string before = udp.ask(lab->client, kWeb4);
  ASSERT_TRUE(before.starts_with("machine")) << before;
  ASSERT_TRUE(tcp.ask(lab->client, kWeb4).starts_with("machine"));
  lab->host.enter();
  NetlinkSocket socket = NetlinkSocket::open(NETLINK_NETFILTER).value();

  ListenerKey listener{kWeb4.address, Protocol::udp, 80};
  Endpoint first = target("10.88.0.11").endpoint;
  Endpoint second = target("10.88.0.12").endpoint;
  Endpoint used = before.starts_with("machine 0") ? first : second;
  Endpoint unused = before.starts_with("machine 0") ? second : first;
  EXPECT_EQ(end_udp_flows({}, socket), 0u);
  EXPECT_EQ(end_udp_flows({{listener, unused}}, socket), 0u);
  EXPECT_EQ(end_udp_flows({{{kWeb4.address, Protocol::udp, 81}, used}}, socket), 0u);
  EXPECT_EQ(end_udp_flows({{{kWeb4.address, Protocol::tcp, 80}, used}}, socket), 0u);
  EXPECT_EQ(end_udp_flows({{listener, used}, {listener, unused}}, socket), 1u);
  EXPECT_EQ(end_udp_flows({{listener, used}}, socket), 0u) << "it has ended";
  EXPECT_EQ(tcp.ask_again(), "alive");
}

}  // namespace
}  // namespace isthmus::infra::drivers

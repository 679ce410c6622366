#include "isthmus/infra/drivers/return_path.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <optional>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/drivers/balanced_testing.h"

namespace isthmus::infra::drivers {
namespace {

using namespace std::chrono_literals;
using namespace testing;

const ListenerKey kTcp4{kWeb4.address, Protocol::tcp, 80};
const ListenerKey kTcp6{kWeb6.address, Protocol::tcp, 80};
const ListenerKey kUdp4{kWeb4.address, Protocol::udp, 80};
const std::set<ListenerKey> kAll{kTcp4, kTcp6, kUdp4};

using Health = std::vector<FlowHealth>;

// The first packet has left when connect() returns; nobody waits for the answer.
constexpr int kUnansweredMs = 10;

// Balances under keep. The client is routed through the host; a machine as client is in one subnet
// with the other, whose answers then go by the host.
class ReturnPathTest : public BalancedTest {
 protected:
  void SetUp() override {
    BalancedTest::SetUp();
    if (lab == nullptr) return;
    Balancer tcp = a_balancer();
    Balancer udp = a_balancer(Protocol::udp);
    for (Balancer* one : {&tcp, &udp}) {
      one->source_address = SourceAddress::keep;
      one->groups = {{target("10.88.0.11"), target("fd88::11")}};
    }
    make_so({tcp, udp});
    lab->host.enter();
    paths.emplace(NetlinkSocket::open(NETLINK_NETFILTER).value(), world.loop);
  }

  Health look(const std::set<ListenerKey>& listeners = kAll) {
    Result<Health> health = paths->look(listeners);
    EXPECT_TRUE(health) << health.error().message;
    return *health;
  }

  VirtualWorld world;
  std::optional<ReturnPaths> paths;
};

TEST_F(ReturnPathTest, flows_whose_replies_go_by_are_found_after_a_while) {
  Traffic v4 = machines4();
  ASSERT_EQ(v4.ask(lab->machines[1], kWeb4, kUnansweredMs), "silence");
  ASSERT_EQ(v4.ask(lab->machines[1], kWeb4, kUnansweredMs), "silence");
  Traffic v6 = machines6();
  ASSERT_EQ(v6.ask(lab->machines[1], kWeb6, kUnansweredMs), "silence");
  EXPECT_EQ(look(), Health{}) << "they may be new";
  world.advance(2900ms);
  EXPECT_EQ(look(), Health{});
  world.advance(100ms);
  EXPECT_EQ(look(), (Health{{kTcp4, 2, 0}, {kTcp6, 1, 0}}));
  EXPECT_EQ(look({kTcp6}), (Health{{kTcp6, 1, 0}}));
  EXPECT_EQ(look(), (Health{{kTcp6, 1, 0}})) << "what was not asked for is new again";
}

TEST_F(ReturnPathTest, flows_that_are_answered_through_the_host_are_not) {
  Traffic v4 = machines4();
  ASSERT_EQ(v4.ask(lab->client, kWeb4), "machine 0 saw 10.77.0.10");
  EXPECT_EQ(look(), Health{});
  world.advance(1min);
  EXPECT_EQ(look(), Health{});
}

TEST_F(ReturnPathTest, beside_answered_flows_unanswered_ones_are_counted_only) {
  Traffic v4 = machines4();
  ASSERT_EQ(v4.ask(lab->machines[1], kWeb4, kUnansweredMs), "silence");
  ASSERT_EQ(v4.ask(lab->client, kWeb4), "machine 0 saw 10.77.0.10");
  look();
  world.advance(3s);
  EXPECT_EQ(look(), (Health{{kTcp4, 1, 1}}));
  EXPECT_FALSE(return_path_missing(look()[0]));
}

TEST_F(ReturnPathTest, the_answer_to_a_client_that_was_masqueraded_proves_nothing) {
  Traffic v4 = machines4();
  ASSERT_EQ(v4.ask(lab->machines[1], kWeb4, kUnansweredMs), "silence");
  // A machine that asks itself through the listener could not be answered otherwise.
  ASSERT_EQ(v4.ask(lab->machines[0], kWeb4), "machine 0 saw 10.88.0.1");
  look();
  world.advance(3s);
  EXPECT_EQ(look(), (Health{{kTcp4, 1, 0}}));
}

TEST_F(ReturnPathTest, of_udp_nothing_is_concluded) {
  Traffic udp = machines4(Protocol::udp);
  ASSERT_NE(udp.ask(lab->machines[1], kWeb4, kUnansweredMs), "silence")
      << "it did reach the machine";
  look();
  world.advance(3s);
  Health health = look();
  EXPECT_EQ(health, (Health{{kUdp4, 1, 0}}));
  EXPECT_FALSE(return_path_missing(health[0]));
  EXPECT_TRUE(return_path_missing({kTcp4, 1, 0}));
}

TEST_F(ReturnPathTest, what_is_no_listener_of_ours_is_not_looked_at) {
  Traffic v4 = machines4();
  ASSERT_EQ(v4.ask(lab->machines[1], kWeb4, kUnansweredMs), "silence");
  look({kTcp6});
  world.advance(3s);
  EXPECT_EQ(look({kTcp6}), Health{});
}

}  // namespace
}  // namespace isthmus::infra::drivers

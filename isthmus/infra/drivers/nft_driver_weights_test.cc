// How many new flows each target gets, counted with real ones: what the slots promise (slots.h) is
// what the kernel draws.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "isthmus/infra/drivers/balanced_testing.h"

namespace isthmus::infra::drivers {
namespace {

using namespace testing;

// So many flows to each slot in the mean tell one slot from two.
constexpr int kFlows = 100 * kSlots;
// Flows that are on their way at once; each must find room in the machine's socket.
constexpr int kBatch = 64;
constexpr std::uint16_t kTargetPort = 30080;
constexpr int kFirstClientPort = 20'000;

// One machine that has all addresses of 10.99.0.0/16, so that there can be any number of targets.
class NftWeightsTest : public BalancedTest {
 protected:
  void SetUp() override {
    BalancedTest::SetUp();
    if (lab == nullptr) return;
    lab->machines[0].ip("link set lo up\nroute add local 10.99.0.0/16 dev lo");
    lab->host.ip("route add 10.99.0.0/16 via 10.88.0.11");
    machine = respond(lab->machines[0], {ip("0.0.0.0"), kTargetPort}, Protocol::udp);
    int on = 1;
    ::setsockopt(*machine, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  }

  static Target numbered(int number, std::uint32_t weight) {
    std::string address = fmt::format("10.99.{}.{}", number / 250, number % 250 + 1);
    return {.endpoint = {ip(address), kTargetPort}, .weight = weight};
  }

  void serve(std::vector<Target> targets) {
    Balancer balancer = a_balancer(Protocol::udp);
    balancer.groups = {std::move(targets)};
    make_so({balancer});
    for (const Endpoint& owner : driver->observe()->listeners.at(kListener).slots) {
      ++slots[owner.address];
    }
  }

  // Sends flows and counts by target which of them came.
  void send_flows() {
    SocketAddress web = socket_address(kWeb4);
    for (int sent = 0; sent < kFlows; sent += kBatch) {
      for (int i = 0; i < kBatch; ++i) {
        // A port of its own, or it could be a flow that is known already.
        int port = kFirstClientPort + sent + i;
        Descriptor client = respond(
            lab->client, {ip("10.77.0.10"), static_cast<std::uint16_t>(port)}, Protocol::udp);
        ASSERT_EQ(::sendto(*client, "?", 1, 0, web.pointer(), web.length), 1);
      }
      for (int i = 0; i < kBatch; ++i) {
        ASSERT_TRUE(wait_for(machine, POLLIN, kAnswerMs)) << "flow " << sent + i;
        ++flows[destination_of_next()];
      }
    }
  }

  IpAddress destination_of_next() {
    char byte = 0;
    iovec room{&byte, 1};
    alignas(cmsghdr) std::array<char, 64> control{};
    msghdr message{};
    message.msg_iov = &room;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    EXPECT_EQ(::recvmsg(*machine, &message, 0), 1);
    in_pktinfo info{};
    for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
      if (one->cmsg_type == IP_PKTINFO) std::memcpy(&info, CMSG_DATA(one), sizeof info);
    }
    IpAddress address{IpFamily::v4, {}};
    std::memcpy(address.bytes.data(), &info.ipi_addr, address.size());
    return address;
  }

  // Pearson's chi-square of the flows against the slots stays below its value for one in a million
  // (Wilson and Hilferty's approximation), so that a right driver fails once in a million runs.
  void expect_shares_of_slots() {
    double deviation = 0;
    int counted = 0;
    for (const auto& [target, count] : flows) {
      EXPECT_TRUE(slots.contains(target)) << to_string(target) << " owns no slot";
      counted += count;
    }
    ASSERT_EQ(counted, kFlows);
    for (const auto& [target, owned] : slots) {
      double expected = static_cast<double>(kFlows) * owned / kSlots;
      double difference = flows[target] - expected;
      deviation += difference * difference / expected;
    }
    constexpr double kOneInAMillion = 4.753;  // In standard deviations.
    auto freedom = static_cast<double>(slots.size() - 1);
    double root = 1 - 2 / (9 * freedom) + kOneInAMillion * std::sqrt(2 / (9 * freedom));
    EXPECT_LT(deviation, freedom * root * root * root);
  }

  const ListenerKey kListener{kWeb4.address, Protocol::udp, kWeb4.port};
  Descriptor machine;
  std::map<IpAddress, int> slots;
  std::map<IpAddress, int> flows;
};

TEST_F(NftWeightsTest, three_targets_share_by_weight) {
  serve({numbered(0, 1), numbered(1, 2), numbered(2, 5)});
  EXPECT_EQ(slots.at(numbered(0, 1).endpoint.address), 16);
  EXPECT_EQ(slots.at(numbered(1, 2).endpoint.address), 32);
  EXPECT_EQ(slots.at(numbered(2, 5).endpoint.address), 80);
  send_flows();
  expect_shares_of_slots();
}

TEST_F(NftWeightsTest, of_a_hundred_equal_targets_each_is_served_and_none_more_than_twice) {
  std::vector<Target> targets;
  for (int i = 0; i < 100; ++i) targets.push_back(numbered(i, 1));
  serve(targets);
  EXPECT_EQ(slots.size(), 100u);
  for (const auto& [target, owned] : slots) EXPECT_LE(owned, 2);
  send_flows();
  expect_shares_of_slots();
  EXPECT_EQ(flows.size(), 100u);
}

TEST_F(NftWeightsTest, a_hundred_targets_of_different_weights_share_by_weight) {
  std::vector<Target> targets;
  for (int i = 0; i < 100; ++i) targets.push_back(numbered(i, i < 4 ? 100 : 10));
  serve(targets);
  // 128 slots by weight are 9.4 for the heavy ones, and 0.9 for the others, which get one each.
  for (int i = 0; i < 100; ++i) {
    int owned = slots.at(targets[static_cast<std::size_t>(i)].endpoint.address);
    if (i < 4) {
      EXPECT_EQ(owned, 8);
    } else {
      EXPECT_EQ(owned, 1);
    }
  }
  send_flows();
  expect_shares_of_slots();
}

TEST_F(NftWeightsTest, of_a_thousand_targets_128_are_served_alike) {
  std::vector<Target> targets;
  for (int i = 0; i < 1000; ++i) targets.push_back(numbered(i, 1 + static_cast<unsigned>(i % 3)));
  serve(targets);
  EXPECT_EQ(slots.size(), kSlots);
  send_flows();
  expect_shares_of_slots();
}

}  // namespace
}  // namespace isthmus::infra::drivers

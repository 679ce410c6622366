// A lab whose host balances: what tests of the driver and of its traffic share.
#pragma once

#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/infra/drivers/nft_driver.h"
#include "isthmus/infra/drivers/plan.h"
#include "isthmus/infra/drivers/traffic_testing.h"

namespace isthmus::infra::drivers::testing {

inline IpAddress ip(std::string_view text) { return parse_ip(text).value(); }
inline IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }
inline Target target(std::string_view address) { return {.endpoint = {ip(address), 30080}}; }

inline const Endpoint kWeb4{parse_ip("192.0.2.1").value(), 80};
inline const Endpoint kWeb6{parse_ip("2001:db8::1").value(), 80};

// On the lab's host, with both machines behind it, the targets of a family in their order.
inline Balancer a_balancer(Protocol protocol = Protocol::tcp) {
  return {.note = "prod/web 7",
          .addresses = {kWeb4.address, kWeb6.address},
          .listeners = {{protocol, 80, 0}},
          .groups = {{target("10.88.0.11"), target("10.88.0.12"), target("fd88::11"),
                      target("fd88::12")}}};
}

class BalancedTest : public LabTest {
 protected:
  void SetUp() override {
    LabTest::SetUp();
    if (lab == nullptr) return;
    for (const char* address : {"10.77.0.10", "10.88.0.11", "10.88.0.12"}) reach(ip(address));
    // The addresses are bound, as they will be: what is not served must be guarded.
    lab->host.ip(
        "addr add 192.0.2.1/32 dev ext\n"
        "addr add 2001:db8::1/128 dev ext nodad preferred_lft 0");
    lab->host.enter();
    driver = std::make_unique<NftDriver>(NetlinkSocket::open(NETLINK_NETFILTER).value());
  }

  // Waits until the links are up: a first packet that meets a port of the bridge which is not yet
  // forwarding would be sent again after a second only.
  void reach(const IpAddress& address) {
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
      if (echoes(lab->host, address, kAnswerMs / kTries)) return;
    }
    ADD_FAILURE() << to_string(address) << " is not reached";
  }

  // Observes, plans, applies, and sees that nothing is left to do.
  void make_so(std::vector<Balancer> balancers, std::vector<IpPrefix> links = {}) {
    Wish wish{.balancers = std::move(balancers), .links = std::move(links)};
    Result<Held> held = driver->observe();
    ASSERT_TRUE(held) << held.error().message;
    Result<Plan> plan = make_plan(*held, wish);
    ASSERT_TRUE(plan) << plan.error().message;
    Result<> applied = driver->apply(*plan, *held);
    ASSERT_TRUE(applied) << applied.error().message;
    EXPECT_EQ(make_plan(*held, wish)->text(), "");
    EXPECT_EQ(driver->generation(), held->generation);
    Result<Held> again = driver->observe();
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(make_plan(*again, wish)->text(), "");
  }

  Traffic machines4(Protocol protocol = Protocol::tcp) {
    return {*lab, {target("10.88.0.11").endpoint, target("10.88.0.12").endpoint}, protocol};
  }
  Traffic machines6(Protocol protocol = Protocol::tcp) {
    return {*lab, {target("fd88::11").endpoint, target("fd88::12").endpoint}, protocol};
  }

  // How often each answer came.
  std::map<std::string, int> answers(Traffic& traffic, const Endpoint& to, int count) {
    std::map<std::string, int> result;
    for (int i = 0; i < count; ++i) ++result[traffic.ask(lab->client, to)];
    return result;
  }

  std::unique_ptr<NftDriver> driver;
};

}  // namespace isthmus::infra::drivers::testing

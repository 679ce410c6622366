#include "isthmus/infra/address_keeper.h"

#include <gtest/gtest.h>

#include <memory>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/host_testing.h"

namespace isthmus::infra {
namespace {

using testing::ip;
using namespace std::chrono_literals;

const IpAddress kAddress = ip("10.0.0.100");
const IpAddress kRouted = ip("192.0.2.1");

class AddressKeeperTest : public ::testing::Test {
 protected:
  AddressKeeperTest() {
    // Rules stand for everything, so that the kernel does not complain.
    kernel.held.structure = drivers::Structure::right;
    for (const IpAddress& address : {kAddress, kRouted}) {
      kernel.held.guarded.insert(address);
      kernel.held.listeners[{address, drivers::Protocol::tcp, 80}].note = "prod/web 1";
    }
    EXPECT_TRUE(keeper.look());
    scope->spawn(&AddressKeeper::run, &keeper);
    scope->spawn(&drivers::AnnouncementSchedule::run, &announcements);
  }
  ~AddressKeeperTest() override {
    scope.reset();
    EXPECT_EQ(kernel.violations, std::vector<std::string>{});
  }

  std::string_view hold(const IpAddress& address, const std::string& fallback = "") {
    std::optional<Trouble> trouble = keeper.hold(address, fallback);
    return trouble ? trouble->reason : "bound";
  }
  void let_pass(Duration duration) { world.advance(duration); }

  VirtualWorld world;
  testing::FakeKernel kernel;
  testing::FakeHost host{kernel};
  SeededRandom random{7};
  Metrics metrics;
  NullLogger log;
  drivers::AddressProbe probe{host.probe_link()};
  drivers::AnnouncementSchedule announcements{host.announcer(), world.loop, random, metrics, log};
  AddressKeeper keeper{{host.addresses(), probe, announcements, world.loop, random, log}};
  std::unique_ptr<Scope> scope = std::make_unique<Scope>(world.loop);
};

TEST_F(AddressKeeperTest, a_new_address_is_asked_for_then_bound_and_announced) {
  EXPECT_EQ(hold(kAddress), reason::probing);
  EXPECT_EQ(hold(kAddress), reason::probing);
  let_pass(300ms);
  EXPECT_TRUE(keeper.moved().is_set());
  EXPECT_EQ(keeper.take_moved(), std::set<IpAddress>{kAddress});
  EXPECT_FALSE(kernel.has(kAddress));
  EXPECT_EQ(hold(kAddress), "bound");
  EXPECT_EQ(kernel.is_ours(kAddress), "eth0");
  EXPECT_EQ(kernel.announced[kAddress], 1);
  EXPECT_EQ(kernel.asked.size(), 3);
}

TEST_F(AddressKeeperTest, many_are_asked_for_at_the_same_time) {
  EXPECT_EQ(hold(kAddress), reason::probing);
  EXPECT_EQ(hold(kRouted, "eth1"), reason::probing);
  let_pass(300ms);
  EXPECT_EQ(keeper.take_moved().size(), 2);
  EXPECT_EQ(hold(kAddress), "bound");
  EXPECT_EQ(hold(kRouted, "eth1"), "bound");
  EXPECT_EQ(kernel.is_ours(kRouted), "eth1");
}

TEST_F(AddressKeeperTest, without_an_interface_it_says_what_to_do) {
  EXPECT_EQ(hold(kRouted), reason::no_interface);
  EXPECT_NE(keeper.hold(kRouted, "")->message.find("pool"), std::string::npos);
}

TEST_F(AddressKeeperTest, an_interface_that_is_not_there_is_tried_again) {
  kernel.interfaces.erase("eth1");
  EXPECT_EQ(hold(kRouted, "eth1"), reason::probing);
  let_pass(300ms);
  EXPECT_EQ(hold(kRouted, "eth1"), reason::address_failed);
  kernel.interfaces.insert("eth1");
  EXPECT_EQ(hold(kRouted, "eth1"), reason::address_failed);
  let_pass(1s);
  EXPECT_TRUE(keeper.is_due());
  EXPECT_EQ(keeper.take_moved(), std::set<IpAddress>{kRouted});
  EXPECT_EQ(hold(kRouted, "eth1"), reason::address_failed);  // Until others have been asked again.
  let_pass(300ms);
  EXPECT_EQ(hold(kRouted, "eth1"), "bound");
}

TEST_F(AddressKeeperTest, one_that_nobody_wants_any_more_is_not_bound_when_its_probe_ends) {
  EXPECT_EQ(hold(kAddress), reason::probing);
  EXPECT_TRUE(keeper.release(kAddress));
  let_pass(1s);
  EXPECT_TRUE(keeper.take_moved().empty());
  EXPECT_FALSE(kernel.has(kAddress));
}

TEST_F(AddressKeeperTest, what_is_bound_from_before_is_not_asked_for) {
  kernel.addresses.push_back({kAddress, 32, "eth0", true});
  ASSERT_TRUE(keeper.look());
  EXPECT_EQ(hold(kAddress), "bound");
  EXPECT_TRUE(kernel.asked.empty());
  EXPECT_EQ(kernel.announced[kAddress], 1);
}

TEST_F(AddressKeeperTest, one_that_is_on_another_interface_moves) {
  kernel.addresses.push_back({kAddress, 32, "eth1", true});
  ASSERT_TRUE(keeper.look());
  EXPECT_EQ(hold(kAddress), "bound");
  EXPECT_EQ(kernel.is_ours(kAddress), "eth0");
  EXPECT_EQ(kernel.ours(), 1);
  EXPECT_TRUE(kernel.asked.empty());
}

TEST_F(AddressKeeperTest, one_that_was_taken_from_us_is_lost_and_bound_again_unasked) {
  kernel.addresses.push_back({kAddress, 32, "eth0", true});
  ASSERT_TRUE(keeper.look());
  std::erase_if(kernel.addresses, [](const auto& one) { return one.ours; });
  EXPECT_EQ(keeper.look().value().lost, std::vector{kAddress});
  EXPECT_EQ(hold(kAddress), "bound");
  EXPECT_TRUE(kernel.asked.empty());
}

TEST_F(AddressKeeperTest, networks_change_with_the_interfaces_and_not_with_link_local_addresses) {
  kernel.addresses.push_back({ip("fe80::1"), 64, "eth1", false});
  EXPECT_FALSE(keeper.look().value().networks_changed);
  kernel.addresses.push_back({ip("192.0.2.254"), 24, "eth1", false});
  EXPECT_TRUE(keeper.look().value().networks_changed);
  EXPECT_EQ(hold(kRouted), reason::probing);
  let_pass(300ms);
  EXPECT_EQ(hold(kRouted), "bound");
  EXPECT_FALSE(keeper.look().value().networks_changed);
}

TEST_F(AddressKeeperTest, what_is_released_is_not_announced_any_more) {
  kernel.addresses.push_back({kAddress, 32, "eth0", true});
  ASSERT_TRUE(keeper.look());
  EXPECT_EQ(hold(kAddress), "bound");
  EXPECT_TRUE(keeper.release(kAddress));
  EXPECT_FALSE(kernel.has(kAddress));
  let_pass(1min);
  EXPECT_EQ(kernel.announced[kAddress], 1);
  EXPECT_TRUE(keeper.release(kAddress));
}

TEST_F(AddressKeeperTest, one_that_cannot_be_unbound_is_still_known) {
  kernel.addresses.push_back({kAddress, 32, "eth0", true});
  ASSERT_TRUE(keeper.look());
  kernel.cannot_unbind.insert(kAddress);
  EXPECT_EQ(keeper.release(kAddress).outcome(), Outcome::busy);
  EXPECT_TRUE(keeper.bound().contains(kAddress));
}

}  // namespace
}  // namespace isthmus::infra

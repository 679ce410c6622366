// What others do to this host behind our back, and what becomes of it.
#include "isthmus/infra/host_watch.h"

#include "isthmus/infra/reconciler_testing.h"

namespace isthmus::infra {
namespace {

using namespace testing;

const drivers::ListenerKey kListener{kVip, drivers::Protocol::tcp, 80};

class Drifting : public ReconcilerTest {
 protected:
  void SetUp() override {
    begin();
    process->serve();
    before = kernel.held;
  }
  void TearDown() override {
    kernel.violations.clear();  // What others do may leave an address bare for a moment.
    ReconcilerTest::TearDown();
  }
  void expect_repaired(std::string_view reason) {
    EXPECT_EQ(kernel.held.listeners, before.listeners);
    EXPECT_EQ(kernel.held.guarded, before.guarded);
    EXPECT_EQ(kernel.held.structure, drivers::Structure::right);
    EXPECT_EQ(process->status().repairs, 1);
    EXPECT_EQ(process->status().last_repair_reason, reason);
    EXPECT_EQ(process->said("Ready"), "True Ready");
  }
  double repairs(const std::string& kind) {
    return process->metrics
        .counter("infra_drift_repairs_total", "What others changed of ours on this host, by kind.",
                 {{"kind", kind}})
        .value();
  }

  drivers::Held before;
};

TEST_F(Drifting, a_listener_that_was_removed_is_made_again_when_the_kernel_tells) {
  kernel.held.listeners.clear();
  kernel.changes.rules = true;
  world.advance(1s);
  expect_repaired("listener tcp 10.0.0.100:80 was gone");
  EXPECT_EQ(repairs("listener"), 1);
}

TEST_F(Drifting, nothing_is_told_and_it_is_found_within_half_a_minute) {
  kernel.held.listeners[kListener].masquerade = false;
  world.advance(31s);
  expect_repaired("listener tcp 10.0.0.100:80 was changed");
}

TEST_F(Drifting, a_guard_that_was_removed_is_made_again) {
  kernel.held.guarded.clear();
  kernel.changes.rules = true;
  world.advance(1s);
  expect_repaired("the guard of 10.0.0.100 was gone");
}

TEST_F(Drifting, a_table_that_was_flushed_is_made_again_as_a_whole) {
  kernel.held = {};
  kernel.changes.rules = true;
  world.advance(1s);
  expect_repaired("listener tcp 10.0.0.100:80 was gone");
  EXPECT_EQ(kernel.held.links, before.links);
  EXPECT_EQ(repairs("structure"), 1);
}

TEST_F(Drifting, chains_that_were_flushed_are_made_again_and_told_to_everybody_they_served) {
  process->serve(a_balancer({"prod", "mail"}));
  before = kernel.held;
  kernel.held.structure = drivers::Structure::damaged;
  kernel.changes.rules = true;
  world.advance(1s);
  expect_repaired("chains and rules of this host were changed");
  EXPECT_EQ(process->status({"prod", "mail"}).repairs, 1);
  EXPECT_EQ(repairs("structure"), 1);
}

TEST_F(Drifting, an_address_that_was_removed_is_bound_again_at_once) {
  const std::size_t asked = kernel.asked.size();
  std::erase_if(kernel.addresses, [](const auto& one) { return one.ours; });
  kernel.changes.addresses = true;
  world.advance(1s);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(kernel.asked.size(), asked);
  expect_repaired("address 10.0.0.100 was gone");
}

TEST_F(Drifting, what_others_add_in_our_place_goes) {
  kernel.held.listeners[{kVip, drivers::Protocol::tcp, 22}] = {.passed = true, .note = "me"};
  kernel.addresses.push_back({ip("10.0.0.77"), 32, "eth0", true});
  kernel.changes = {.addresses = true, .rules = true};
  world.advance(1s);
  EXPECT_EQ(kernel.held.listeners, before.listeners);
  EXPECT_FALSE(kernel.has(ip("10.0.0.77")));
}

TEST_F(Drifting, what_belongs_to_others_is_left_alone) {
  kernel.addresses.push_back({ip("10.0.0.77"), 24, "eth0", false});
  kernel.changes.addresses = true;
  const std::size_t writes = kernel.writes;
  world.advance(1min);
  EXPECT_EQ(kernel.writes, writes);
  EXPECT_EQ(process->status().repairs, 0);
}

TEST_F(Drifting, an_interface_that_gets_another_network_is_one_more_link) {
  kernel.addresses.push_back({ip("10.9.0.1"), 24, "eth1", false});
  kernel.changes.addresses = true;
  world.advance(1s);
  EXPECT_EQ(kernel.held.links.size(), 2);
  EXPECT_EQ(process->status().repairs, 0);
}

TEST_F(Drifting, an_interface_that_loses_its_network_for_a_moment_keeps_what_is_bound) {
  std::erase_if(kernel.addresses, [](const auto& one) { return !one.ours; });
  kernel.changes.addresses = true;
  world.advance(1s);
  begin();
  world.advance(1min);
  EXPECT_TRUE(kernel.has(kVip));
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Drifting, an_interface_that_comes_later_gets_what_waits_for_it) {
  std::erase_if(kernel.addresses, [](const auto& one) { return !one.ours; });
  kernel.changes.addresses = true;
  world.advance(1s);
  process->serve(a_balancer({"prod", "mail"}));
  EXPECT_EQ(process->said("Programmed", {"prod", "mail"}), "False NoInterface");
  kernel.addresses.push_back({ip("10.0.0.1"), 24, "eth1", false});
  kernel.changes.addresses = true;
  world.advance(1s);
  EXPECT_EQ(process->said("Ready", {"prod", "mail"}), "True Ready");
  EXPECT_EQ(kernel.is_ours(process->status({"prod", "mail"}).addresses.front()), "eth1");
  EXPECT_EQ(kernel.is_ours(kVip), "eth1");
}

TEST_F(Drifting, a_link_that_is_down_is_told_until_it_is_back) {
  kernel.down = {"eth0"};
  kernel.changes.links = true;
  world.advance(1s);
  EXPECT_EQ(process->said("Programmed"), "False LinkDown");
  EXPECT_EQ(process->message("Programmed"), "eth0, which holds 10.0.0.100, is down");
  EXPECT_EQ(process->said("Ready"), "False LinkDown");
  kernel.down = {"eth1"};
  kernel.changes.links = true;
  world.advance(1s);
  EXPECT_EQ(process->said("Ready"), "True Ready");
  EXPECT_EQ(process->status().repairs, 0);
}

TEST_F(Drifting, a_host_that_stops_forwarding_is_told_until_it_does_again) {
  kernel.not_forwarded = {IpFamily::v4};
  world.advance(2s);
  EXPECT_EQ(process->said("Programmed"), "False ForwardingOff");
  EXPECT_EQ(process->message("Programmed"), "run as root: sysctl");
  process->serve(a_balancer({"prod", "mail"}));
  EXPECT_EQ(process->said("Ready", {"prod", "mail"}), "False ForwardingOff");
  kernel.not_forwarded = {IpFamily::v6};  // Which nobody here has.
  world.advance(2s);
  EXPECT_EQ(process->said("Ready"), "True Ready");
  EXPECT_EQ(process->said("Ready", {"prod", "mail"}), "True Ready");
}

TEST_F(Drifting, where_others_balance_forwarding_is_their_affair) {
  kernel.not_forwarded = {IpFamily::v4};
  begin(true);
  world.advance(2s);
  EXPECT_EQ(process->said("Ready"), "True Ready");
}

TEST_F(Drifting, repairs_are_counted_on_after_a_restart) {
  kernel.held.listeners.clear();
  kernel.changes.rules = true;
  world.advance(1s);
  begin();
  kernel.held.listeners.clear();
  kernel.changes.rules = true;
  world.advance(1s);
  EXPECT_EQ(process->status().repairs, 2);
}

}  // namespace
}  // namespace isthmus::infra

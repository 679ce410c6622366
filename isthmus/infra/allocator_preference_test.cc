#include <gtest/gtest.h>

#include "isthmus/infra/allocator.h"
#include "isthmus/infra/allocator_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

const ObjectName kA{"prod", "a"};
const ObjectName kB{"prod", "b"};
const ObjectName kOther{"test", "a"};

// What becomes of the hint which address a load balancer would like to have.
class allocator_preference : public testing::Test {
 protected:
  allocator_preference() {
    ledger.add_pool("public", {"192.0.2.0/29", "2001:db8::/120"});
    ledger.add_pool("reserved", {"192.0.2.8/29"}, false);
  }

  std::string put(const ObjectName& name, const std::vector<std::string>& preferred,
                  const api::LoadBalancerSpec& spec = balancer_spec()) {
    ledger.preferred.clear();
    for (const std::string& text : preferred) ledger.preferred.push_back(ip(text));
    return ledger.put(name, spec);
  }

  TestLedger ledger;
};

TEST_F(allocator_preference, the_first_that_can_be_had_is_given) {
  EXPECT_EQ(put(kB, {"192.0.2.5"}), "192.0.2.5");
  EXPECT_EQ(put(kA, {"198.51.100.1", "192.0.2.5", "192.0.2.4", "192.0.2.3"}), "192.0.2.4");
  EXPECT_EQ(put(kOther, {"192.0.2.4", "192.0.2.5"}), "192.0.2.0");
}

TEST_F(allocator_preference, is_a_wish_for_each_family_by_itself) {
  api::LoadBalancerSpec both = balancer_spec();
  both.families = {IpFamily::v4, IpFamily::v6};
  EXPECT_EQ(put(kA, {"2001:db8::5"}, both), "192.0.2.0 2001:db8::5");
  EXPECT_EQ(put(kB, {"2001:db8::5", "192.0.2.5"}, both), "192.0.2.5 2001:db8::1");
}

TEST_F(allocator_preference, moves_nobody_who_holds_an_address_or_asks_for_one) {
  put(kA, {});
  EXPECT_EQ(put(kA, {"192.0.2.5"}, balancer_spec({443})), "192.0.2.0");
  EXPECT_EQ(put(kB, {"192.0.2.5"}, asking_for({"192.0.2.3"})), "192.0.2.3");
  EXPECT_EQ(ledger.snapshot.address(ip("192.0.2.5")), nullptr);
}

TEST_F(allocator_preference, is_passed_over_where_asking_for_it_would_be_refused) {
  ledger.unusable[ip("192.0.2.1")] = "the host has it itself";
  auto record = std::make_shared<InstanceRecord>();
  record->instance.uid = "m1";
  record->instance.addresses = {{api::AddressType::internal_ip, "192.0.2.2"}};
  ledger.machines.records["m1"] = std::move(record);
  put(kOther, {"192.0.2.3"});
  ledger.remove(kOther);
  ledger.orphans[{"prod", "lost"}] = {.generation = 1, .addresses = {ip("192.0.2.4")}};
  EXPECT_EQ(put({"prod", "1"}, {"192.0.2.1"}), "192.0.2.0");
  EXPECT_EQ(put({"prod", "2"}, {"192.0.2.2"}), "192.0.2.5");
  EXPECT_EQ(put({"prod", "3"}, {"192.0.2.3"}), "192.0.2.6");
  EXPECT_EQ(put({"prod", "4"}, {"192.0.2.4"}), "192.0.2.7");
  ledger.now += 1h;
  EXPECT_EQ(put({"prod", "5"}, {"192.0.2.4", "192.0.2.3"}), "192.0.2.3");
}

TEST_F(allocator_preference, reaches_what_assigns_nothing_by_itself_but_no_forbidden_pool) {
  EXPECT_EQ(put(kA, {"192.0.2.9"}), "192.0.2.9");
  ledger.pools_allowed = {"public"};
  EXPECT_EQ(put(kB, {"192.0.2.10"}), "192.0.2.0");
}

TEST_F(allocator_preference, stays_in_the_pool_that_is_asked_for) {
  api::LoadBalancerSpec reserved = balancer_spec();
  reserved.pool = "reserved";
  EXPECT_EQ(put(kA, {"192.0.2.5", "192.0.2.10"}, reserved), "192.0.2.10");
  EXPECT_EQ(put(kB, {"192.0.2.5"}, reserved), "192.0.2.8");
}

TEST_F(allocator_preference, comes_after_what_was_held_a_moment_ago_and_before_sharing) {
  put(kA, {"192.0.2.3"});
  ledger.remove(kA);
  EXPECT_EQ(put(kA, {"192.0.2.5"}), "192.0.2.3");
  api::LoadBalancerSpec first = balancer_spec({80});
  api::LoadBalancerSpec second = balancer_spec({443});
  first.sharing_key = second.sharing_key = "key";
  EXPECT_EQ(put({"prod", "first"}, {"192.0.2.6"}, first), "192.0.2.6");
  EXPECT_EQ(put({"prod", "second"}, {"192.0.2.5"}, second), "192.0.2.5");
  EXPECT_EQ(put({"prod", "third"}, {"192.0.2.6"}, second), "192.0.2.6");
}

TEST_F(allocator_preference, reaches_the_anycast_address_that_nobody_gets_unasked) {
  api::LoadBalancerSpec six = balancer_spec();
  six.families = {IpFamily::v6};
  EXPECT_EQ(put(kA, {"2001:db8::"}, six), "2001:db8::");
}

}  // namespace
}  // namespace isthmus::infra

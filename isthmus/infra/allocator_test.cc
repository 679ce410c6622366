#include "isthmus/infra/allocator.h"

#include <gtest/gtest.h>

#include "isthmus/infra/allocator_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

const ObjectName kA{"prod", "a"};
const ObjectName kB{"prod", "b"};
const ObjectName kC{"prod", "c"};
const ObjectName kOther{"test", "a"};

class allocator : public testing::Test {
 protected:
  allocator() { ledger.add_pool("public", {"192.0.2.0/30", "2001:db8::/120"}); }

  std::string put(const ObjectName& name) { return ledger.put(name, balancer_spec()); }

  TestLedger ledger;
};

TEST_F(allocator, gives_the_lowest_address_that_nobody_held_before) {
  EXPECT_EQ(put(kA), "192.0.2.0");
  EXPECT_EQ(put(kB), "192.0.2.1");
  ledger.remove(kA);
  ledger.now += 1h;
  EXPECT_EQ(put(kC), "192.0.2.2");
  EXPECT_EQ(put(kOther), "192.0.2.3");
}

TEST_F(allocator, gives_the_one_that_was_free_for_longest_when_all_were_held) {
  for (const char* name : {"0", "1", "2", "3"}) put({"prod", name});
  ledger.remove({"prod", "2"});
  ledger.now += 1s;
  ledger.remove({"prod", "1"});
  ledger.now += 1h;
  EXPECT_EQ(put(kA), "192.0.2.2");
  EXPECT_EQ(put(kB), "192.0.2.1");
}

TEST_F(allocator, keeps_what_is_held_whatever_else_changes) {
  put(kA);
  EXPECT_EQ(put(kB), "192.0.2.1");
  ledger.remove(kA);
  ledger.now += 1h;
  ledger.forget();
  EXPECT_EQ(ledger.put(kB, balancer_spec({80, 443})), "192.0.2.1");
  // Neither a pool that was closed, nor one that assigns nothing any more, nor an address that the
  // host found unusable meanwhile.
  ledger.add_pool("public", {"192.0.2.0/30"}, false);
  ledger.unusable[ip("192.0.2.1")] = "the host has it itself";
  ledger.pools_allowed = {"another"};
  EXPECT_EQ(ledger.put(kB, balancer_spec({80})), "192.0.2.1");
  api::LoadBalancerSpec named = balancer_spec();
  named.pool = "public";
  EXPECT_EQ(ledger.put(kB, named), "192.0.2.1");
}

TEST_F(allocator, writes_nothing_where_nothing_changes) {
  put(kA);
  auto again = allocate(ledger.snapshot, kA, balancer_spec({443}), ledger.circumstances());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->writes.empty());
}

TEST_F(allocator, gives_one_address_of_each_family_or_none) {
  api::LoadBalancerSpec both = balancer_spec();
  both.families = {IpFamily::v6, IpFamily::v4};
  EXPECT_EQ(ledger.put(kA, both), "2001:db8::1 192.0.2.0");
  for (const char* name : {"1", "2", "3"}) put({"prod", name});
  std::size_t records = ledger.snapshot.addresses.size();
  EXPECT_TRUE(ledger.put(kB, both).starts_with("pool-exhausted: pool public has no free IPv4"));
  EXPECT_EQ(ledger.snapshot.addresses.size(), records);

  both.families = {IpFamily::v6};
  EXPECT_EQ(ledger.put(kA, both), "2001:db8::1");
  EXPECT_TRUE(ledger.record("192.0.2.0").is_cooling(ledger.now));
}

TEST_F(allocator, gives_what_is_asked_for_in_that_order) {
  EXPECT_EQ(ledger.put(kA, asking_for({"2001:db8::7", "192.0.2.3", "192.0.2.2"})),
            "2001:db8::7 192.0.2.3 192.0.2.2");
  EXPECT_EQ(ledger.put(kA, asking_for({"192.0.2.2"})), "192.0.2.2");
  EXPECT_TRUE(ledger.record("192.0.2.3").is_cooling(ledger.now));
  // Whoever stops asking keeps what they have.
  EXPECT_EQ(put(kA), "192.0.2.2");
}

TEST_F(allocator, says_who_holds_what_is_asked_for_and_changes_nothing) {
  ledger.put(kOther, asking_for({"192.0.2.2"}));
  EXPECT_EQ(ledger.put(kA, asking_for({"192.0.2.1", "192.0.2.2"})),
            "address-in-use: 192.0.2.2 is held by test/a: ask for another address, or delete what "
            "holds it");
  EXPECT_EQ(ledger.snapshot.addresses.size(), 1u);
  put(kB);
  EXPECT_EQ(ledger.put(kA, asking_for({"192.0.2.0"})),
            "address-in-use: 192.0.2.0 is held by prod/b: ask for another address, give all of "
            "them the same sharingKey, or delete what holds it");
}

TEST_F(allocator, says_which_pools_there_are_when_an_address_is_in_none) {
  EXPECT_EQ(ledger.put(kA, asking_for({"198.51.100.1"})),
            "address-not-in-pool: 198.51.100.1 is in no pool; prod may use public (192.0.2.0/30, "
            "2001:db8::/120)");
  ledger.add_pool("office", {"198.51.100.0/24"});
  api::LoadBalancerSpec spec = asking_for({"198.51.100.1"});
  spec.pool = "public";
  EXPECT_EQ(ledger.put(kA, spec),
            "address-not-in-pool: 198.51.100.1 is in pool office, not in public, which is asked "
            "for");
  ledger.pools_allowed = {"public"};
  EXPECT_TRUE(ledger.put(kA, asking_for({"198.51.100.1"}))
                  .starts_with("address-not-in-pool: 198.51.100.1 is in pool office, which is not "
                               "for prod; prod may use public"));
}

TEST_F(allocator, takes_from_the_pool_that_is_asked_for_and_from_no_other) {
  ledger.add_pool("office", {"198.51.100.0/31"}, false);
  api::LoadBalancerSpec spec = balancer_spec();
  spec.pool = "office";
  EXPECT_EQ(ledger.put(kA, spec), "198.51.100.0");
  EXPECT_EQ(put(kB), "192.0.2.0");
  // Asking for another pool is asking for another address.
  EXPECT_EQ(ledger.put(kB, spec), "198.51.100.1");
  EXPECT_TRUE(ledger.record("192.0.2.0").is_cooling(ledger.now));
  EXPECT_EQ(ledger.put(kC, spec),
            "pool-exhausted: pool office has no free IPv4 address: 2 held (by prod/a, prod/b): add "
            "a range to the pool, or delete what is not needed any more");
  spec.families = {IpFamily::v6};
  EXPECT_TRUE(ledger.put(kC, spec).starts_with("pool-exhausted: pool office has no IPv6 range"));
}

TEST_F(allocator, a_pool_that_is_not_there_or_not_the_owners_is_a_wrong_field) {
  api::LoadBalancerSpec spec = balancer_spec();
  spec.pool = "nowhere";
  EXPECT_EQ(ledger.put(kA, spec),
            "invalid-spec: 1 field is wrong (/spec/pool: there is no pool nowhere; prod may use "
            "public (192.0.2.0/30, 2001:db8::/120))");
  ledger.pools_allowed.emplace();
  spec.pool = "public";
  EXPECT_EQ(ledger.put(kA, spec),
            "invalid-spec: 1 field is wrong (/spec/pool: the pool public is not this owner's; "
            "there is no "
            "pool that prod may use)");
}

TEST_F(allocator, goes_on_to_the_next_pool_that_assigns_by_itself) {
  ledger.add_pool("spare", {"198.51.100.0/30"});
  ledger.add_pool("reserved", {"203.0.113.0/24"}, false);
  for (const char* name : {"0", "1", "2", "3"}) put({"prod", name});
  EXPECT_EQ(put(kA), "198.51.100.0");
  ledger.pools_allowed = {"reserved"};
  EXPECT_TRUE(
      put(kB).starts_with("pool-exhausted: no pool with autoAssign may be used for an IPv4 "
                          "address"));
}

TEST_F(allocator, says_how_full_the_pool_is_and_when_that_may_change) {
  for (const char* name : {"0", "1", "2", "3"}) put({"prod", name});
  ledger.remove({"prod", "3"});
  EXPECT_EQ(put(kA),
            "pool-exhausted: pool public has no free IPv4 address: 3 held (by prod/0, prod/1, "
            "prod/2), 1 cooling down, the next until 2026-01-01T00:05:00Z: add a range to the "
            "pool, or delete what is not needed any more");
  EXPECT_EQ(ledger.last_problem.retry_after_s, 300u);
  EXPECT_EQ(ledger.last_problem.status, 409);
  EXPECT_TRUE(ledger.last_problem.retryable);
}

TEST_F(allocator, passes_over_what_nobody_can_have_here) {
  ledger.unusable[ip("192.0.2.0")] = "it is the network address of 192.0.2.0/30";
  ledger.unusable[ip("192.0.2.3")] = "it is the broadcast address of 192.0.2.0/30";
  EXPECT_EQ(put(kA), "192.0.2.1");
  EXPECT_EQ(put(kB), "192.0.2.2");
  EXPECT_TRUE(put(kC).starts_with("pool-exhausted"));
  EXPECT_EQ(ledger.put(kC, asking_for({"192.0.2.3"})),
            "address-not-in-pool: 192.0.2.3 cannot be served here: it is the broadcast address of "
            "192.0.2.0/30");
}

TEST_F(allocator, gives_the_anycast_address_of_a_network_only_to_who_asks_for_it) {
  api::LoadBalancerSpec spec = balancer_spec();
  spec.families = {IpFamily::v6};
  EXPECT_EQ(ledger.put(kA, spec), "2001:db8::1");
  EXPECT_EQ(ledger.put(kB, asking_for({"2001:db8::"})), "2001:db8::");
}

TEST_F(allocator, does_not_count_through_large_ranges) {
  ledger.add_pool("public", {"2001:db8::/32"});
  api::LoadBalancerSpec spec = balancer_spec();
  spec.families = {IpFamily::v6};
  EXPECT_EQ(ledger.put(kA, spec), "2001:db8::1");
  EXPECT_EQ(ledger.put(kB, asking_for({"2001:db8:ffff::1"})), "2001:db8:ffff::1");
  EXPECT_EQ(ledger.put(kC, spec), "2001:db8::2");
  std::vector<api::PoolUse> use =
      use_of(ledger.snapshot, ledger.snapshot.pool("public")->pool, ledger.circumstances());
  ASSERT_EQ(use.size(), 1u);
  EXPECT_EQ(use[0].total, std::uint64_t{1} << 53);
  EXPECT_EQ(use[0].held, 3u);
}

TEST_F(allocator, gives_the_last_address_of_the_last_range_there_is) {
  ledger.add_pool("public", {"255.255.255.254/31"});
  EXPECT_EQ(put(kA), "255.255.255.254");
  EXPECT_EQ(put(kB), "255.255.255.255");
  EXPECT_TRUE(put(kC).starts_with("pool-exhausted"));
}

TEST_F(allocator, counts_how_much_of_a_pool_is_used) {
  put(kA);
  put(kB);
  ledger.remove(kB);
  ledger.orphans[kC] = {.generation = 7, .addresses = {ip("192.0.2.3")}};
  std::vector<api::PoolUse> use =
      use_of(ledger.snapshot, ledger.snapshot.pool("public")->pool, ledger.circumstances());
  ASSERT_EQ(use.size(), 2u);
  EXPECT_EQ(use[0],
            (api::PoolUse{.family = IpFamily::v4, .total = 4, .held = 2, .cooling = 1, .free = 1}));
  EXPECT_EQ(use[1], (api::PoolUse{.family = IpFamily::v6, .total = 256, .free = 256}));
}

TEST_F(allocator, counts_what_machines_have_as_not_free) {
  put(kA);
  auto record = std::make_shared<InstanceRecord>();
  record->instance.uid = "m1";
  record->instance.addresses = {{api::AddressType::internal_ip, "192.0.2.0"},
                                {api::AddressType::internal_ip, "192.0.2.3"},
                                {api::AddressType::internal_ip, "198.51.100.1"}};
  ledger.machines.records["m1"] = std::move(record);
  std::vector<api::PoolUse> use =
      use_of(ledger.snapshot, ledger.snapshot.pool("public")->pool, ledger.circumstances());
  EXPECT_EQ(use.at(0), (api::PoolUse{.family = IpFamily::v4, .total = 4, .held = 1, .free = 2}));
}

TEST_F(allocator, fills_a_pool_of_a_thousand_addresses_to_the_last_one) {
  ledger.add_pool("public", {"192.0.0.0/22"});
  for (int i = 0; i < 1024; ++i) {
    std::string answer = put({"prod", std::to_string(i)});
    ASSERT_EQ(answer, fmt::format("192.0.{}.{}", i / 256, i % 256));
  }
  EXPECT_TRUE(
      put(kA).starts_with("pool-exhausted: pool public has no free IPv4 address: 1024 held "
                          "(by prod/0, prod/1, prod/2 and for 1021 more)"));
}

}  // namespace
}  // namespace isthmus::infra

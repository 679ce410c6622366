#include "isthmus/infra/allocator_view.h"

#include <gtest/gtest.h>

#include "isthmus/infra/allocator_testing.h"

namespace isthmus::infra {
namespace {

using namespace std::chrono_literals;

const ObjectName kA{"prod", "a"};
const ObjectName kB{"prod", "b"};
const ObjectName kC{"prod", "c"};
const ObjectName kOther{"test", "a"};

api::LoadBalancerSpec sharing(const std::string& key, const std::vector<std::uint16_t>& ports) {
  api::LoadBalancerSpec spec = balancer_spec(ports);
  spec.sharing_key = key;
  return spec;
}

// Who has an address over time: cooling down, coming back, sharing, orphans, hosts and epochs.
class allocator_view : public testing::Test {
 protected:
  allocator_view() { ledger.add_pool("public", {"192.0.2.0/30"}); }

  std::string put(const ObjectName& name) { return ledger.put(name, balancer_spec()); }

  TestLedger ledger;
};

TEST_F(allocator_view, what_is_released_cools_down_for_everybody_but_its_last_holder) {
  put(kA);
  ledger.remove(kA);
  EXPECT_EQ(ledger.put(kB, asking_for({"192.0.2.0"})),
            "address-in-use: 192.0.2.0 cools down until 2026-01-01T00:05:00Z, and only prod/a has "
            "it back before: wait, or ask for another address");
  EXPECT_EQ(ledger.last_problem.retry_after_s, 300u);
  EXPECT_TRUE(ledger.put(kOther, asking_for({"192.0.2.0"})).starts_with("address-in-use"));
  EXPECT_EQ(ledger.put(kA, asking_for({"192.0.2.0"})), "192.0.2.0");
  ledger.remove(kA);
  ledger.now += 5min;
  EXPECT_EQ(ledger.put(kB, asking_for({"192.0.2.0"})), "192.0.2.0");
}

TEST_F(allocator_view, a_name_that_is_put_again_has_its_old_address_back_while_it_cools_down) {
  put(kB);
  EXPECT_EQ(put(kA), "192.0.2.1");
  ledger.leave(kA);
  EXPECT_EQ(put(kA), "192.0.2.1");
  EXPECT_EQ(ledger.record("192.0.2.1").epoch, 2u);
  ledger.remove(kA);
  ledger.now += 4min;
  EXPECT_EQ(put(kC), "192.0.2.2");
  EXPECT_EQ(put(kOther), "192.0.2.3");
  EXPECT_EQ(put(kA), "192.0.2.1");
  EXPECT_EQ(ledger.record("192.0.2.1").epoch, 4u);
  EXPECT_EQ(ledger.record("192.0.2.1").free_at, std::nullopt);
}

TEST_F(allocator_view, of_several_it_has_the_last_back) {
  ledger.put(kA, asking_for({"192.0.2.3"}));
  ledger.now += 1s;
  ledger.put(kA, asking_for({"192.0.2.2"}));
  ledger.now += 1s;
  ledger.remove(kA);
  EXPECT_EQ(put(kA), "192.0.2.2");
}

TEST_F(allocator_view, a_pool_says_how_long_its_addresses_cool_down) {
  PoolRecord pool = *ledger.snapshot.pool("public");
  pool.pool.cool_down = 1h;
  ledger.snapshot.pools["public"] = std::make_shared<const PoolRecord>(pool);
  put(kA);
  ledger.remove(kA);
  EXPECT_EQ(ledger.record("192.0.2.0").free_at, ledger.now + 1h);
  EXPECT_EQ(ledger.record("192.0.2.0").last_holder, "a");
}

TEST_F(allocator_view, one_owner_shares_an_address_under_one_key) {
  EXPECT_EQ(ledger.put(kA, sharing("web", {80})), "192.0.2.0");
  EXPECT_EQ(ledger.put(kB, sharing("web", {443})), "192.0.2.0");
  EXPECT_EQ(ledger.put(kC, sharing("dns", {53})), "192.0.2.1");
  EXPECT_EQ(ledger.put(kOther, sharing("web", {22})), "192.0.2.2");
  EXPECT_EQ(ledger.record("192.0.2.0").holders, (std::vector<std::string>{"a", "b"}));
  // The last one out lets it cool down.
  ledger.remove(kA);
  EXPECT_FALSE(ledger.record("192.0.2.0").is_cooling(ledger.now));
  ledger.remove(kB);
  EXPECT_TRUE(ledger.record("192.0.2.0").is_cooling(ledger.now));
  EXPECT_EQ(ledger.record("192.0.2.0").last_holder, "b");
}

TEST_F(allocator_view, nobody_shares_a_port) {
  ledger.put(kA, sharing("web", {80, 443}));
  EXPECT_EQ(ledger.put(kB, sharing("web", {443})), "192.0.2.1");
  api::LoadBalancerSpec asked = asking_for({"192.0.2.0"});
  asked.sharing_key = "web";
  EXPECT_EQ(ledger.put(kC, asked),
            "address-in-use: 192.0.2.0 is shared with prod/a, which serves TCP 80 on it: use "
            "another port, or ask for another address");
  asked.listeners[0].protocol = api::Protocol::udp;
  EXPECT_EQ(ledger.put(kC, asked), "192.0.2.0");
}

TEST_F(allocator_view, who_shares_cannot_turn_against_the_others) {
  ledger.put(kA, sharing("web", {80}));
  ledger.put(kB, sharing("web", {443}));
  EXPECT_EQ(ledger.put(kB, sharing("web", {80})),
            "address-in-use: 192.0.2.0 is shared with prod/a, which serves TCP 80 on it: use "
            "another port, or ask for another address");
  EXPECT_EQ(ledger.put(kB, sharing("", {443})),
            "address-in-use: 192.0.2.0 is held by prod/a: ask for another address, give all of "
            "them the same sharingKey, or delete what holds it");
  EXPECT_EQ(ledger.put(kB, sharing("web", {8443})), "192.0.2.0");
  ledger.remove(kB);
  EXPECT_EQ(ledger.put(kA, sharing("other", {80})), "192.0.2.0");
  EXPECT_EQ(ledger.record("192.0.2.0").sharing_key, "other");
}

TEST_F(allocator_view, what_an_orphan_serves_is_for_nobody_else) {
  ledger.orphans[kA] = {.generation = 7, .addresses = {ip("192.0.2.0")}};
  EXPECT_EQ(put(kB), "192.0.2.1");
  EXPECT_EQ(ledger.put(kC, asking_for({"192.0.2.0"})),
            "address-in-use: 192.0.2.0 is still served for prod/a, which the store does not know: "
            "its owner may put it again or delete it, or an administrator gives it up with DELETE "
            "/v1/orphans/prod/a");
  EXPECT_EQ(put(kOther), "192.0.2.2");
  EXPECT_EQ(put(kA), "192.0.2.0");
  EXPECT_EQ(ledger.record("192.0.2.0").holders, (std::vector<std::string>{"a"}));
}

TEST_F(allocator_view, an_orphan_outlives_what_an_old_store_remembers) {
  // The store says that b held it last, and that a has another one; the kernel serves a there.
  put(kB);
  ledger.remove(kB);
  EXPECT_EQ(put(kA), "192.0.2.1");
  ledger.orphans[kA] = {.generation = 7, .addresses = {ip("192.0.2.0")}};
  EXPECT_EQ(put(kB), "192.0.2.2");
  EXPECT_EQ(put(kA), "192.0.2.0");
  EXPECT_TRUE(ledger.record("192.0.2.1").is_cooling(ledger.now));
}

TEST_F(allocator_view, an_orphan_whose_address_is_held_by_another_gets_a_new_one) {
  put(kB);
  ledger.orphans[kA] = {.generation = 7, .addresses = {ip("192.0.2.0")}};
  EXPECT_EQ(put(kB), "192.0.2.0");
  EXPECT_EQ(put(kA), "192.0.2.1");
}

TEST_F(allocator_view, what_an_orphan_gives_up_cools_down) {
  ledger.orphans[kA] = {.generation = 7, .addresses = {ip("192.0.2.0")}};
  EXPECT_EQ(ledger.put(kA, asking_for({"192.0.2.3"})), "192.0.2.3");
  EXPECT_TRUE(ledger.record("192.0.2.0").is_cooling(ledger.now));
  EXPECT_EQ(ledger.record("192.0.2.0").last_holder, "a");
}

TEST_F(allocator_view, an_epoch_rises_with_the_holder_and_the_host_and_never_starts_over) {
  put(kA);
  std::uint64_t first = ledger.record("192.0.2.0").epoch;
  ledger.put(kA, balancer_spec({443}));
  EXPECT_EQ(ledger.record("192.0.2.0").epoch, first);
  ledger.host = "lb2";
  put(kA);
  EXPECT_EQ(ledger.record("192.0.2.0").epoch, first + 1);
  EXPECT_EQ(ledger.record("192.0.2.0").host, "lb2");
  ledger.remove(kA);
  std::uint64_t last = ledger.record("192.0.2.0").epoch;
  EXPECT_EQ(last, first + 2);
  ledger.now += 1h;
  ledger.forget();
  put(kA);
  EXPECT_GT(ledger.record("192.0.2.0").epoch, last);
}

TEST_F(allocator_view, an_address_is_shown_with_who_has_it_or_may_have_it_back) {
  put(kA);
  api::AllocatedAddress held = shown(ledger.record("192.0.2.0"), ledger.now);
  EXPECT_EQ(held.state, api::AllocatedAddress::State::held);
  EXPECT_EQ(held.holders, (std::vector<std::string>{"a"}));
  EXPECT_EQ(held.host, "lb1");
  ledger.remove(kA);
  api::AllocatedAddress cooling = shown(ledger.record("192.0.2.0"), ledger.now);
  EXPECT_EQ(cooling.state, api::AllocatedAddress::State::cooling);
  EXPECT_EQ(cooling.holders, (std::vector<std::string>{"a"}));
  EXPECT_EQ(cooling.free_at, ledger.now + 5min);
}

}  // namespace
}  // namespace isthmus::infra

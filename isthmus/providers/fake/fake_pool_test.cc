#include "isthmus/providers/fake/fake_pool.h"

#include <gtest/gtest.h>

namespace isthmus::providers::fake {
namespace {

struct fake_pool : testing::Test {
  fake_pool() { pool.set_addresses({"192.0.2.1", "192.0.2.2", "2001:db8::1"}); }
  // The addresses as text, or the refusal.
  std::string take(const std::string& holder, const cloud::LoadBalancerSpec& wish,
                   const std::vector<IpAddress>& has = {}) {
    const auto taken = pool.allocate(holder, wish, has);
    if (!taken) return taken.error().message;
    std::string all;
    for (const IpAddress& address : *taken) all += to_string(address) + " ";
    return all;
  }
  static IpAddress ip(std::string_view text) { return parse_ip(text).value(); }
  FakePool pool;
};

TEST_F(fake_pool, gives_one_address_per_family_and_keeps_it) {
  EXPECT_EQ(take("a", {.families = {IpFamily::v4, IpFamily::v6}}), "192.0.2.1 2001:db8::1 ");
  EXPECT_EQ(take("a", {}, {ip("192.0.2.1"), ip("2001:db8::1")}), "192.0.2.1 ");
  EXPECT_EQ(pool.holders.size(), 1U);
}

TEST_F(fake_pool, gives_what_is_preferred_where_it_is_free) {
  EXPECT_EQ(take("a", {.preferred_addresses = {ip("192.0.2.2")}}), "192.0.2.2 ");
  EXPECT_EQ(take("b", {.preferred_addresses = {ip("192.0.2.2")}}), "192.0.2.1 ");
}

TEST_F(fake_pool, says_who_holds_what_is_not_to_be_had) {
  pool.holders[ip("192.0.2.1")] = "a stranger";
  EXPECT_EQ(take("a", {.requested_addresses = {ip("192.0.2.1")}}),
            "192.0.2.1 is held by a stranger; release that or ask for another");
  EXPECT_EQ(take("a", {}), "192.0.2.2 ");
  EXPECT_EQ(take("b", {}),
            "pool public has no free IPv4 address: 192.0.2.1 is held by a stranger, 192.0.2.2 is "
            "held by a; enlarge it or release one");
  EXPECT_TRUE(pool.free_all_of("a"));
  EXPECT_EQ(take("b", {}), "192.0.2.2 ");
}

TEST_F(fake_pool, refuses_what_is_not_its_own) {
  EXPECT_EQ(pool.choose("a", {.pool = "private"}, {}).outcome(), Outcome::invalid);
  EXPECT_EQ(pool.choose("a", {.requested_addresses = {ip("198.51.100.1")}}, {}).outcome(),
            Outcome::conflict);
}

}  // namespace
}  // namespace isthmus::providers::fake

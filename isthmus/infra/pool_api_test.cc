#include "isthmus/infra/pool_api.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/orphan.h"
#include "isthmus/infra/api/owner.h"
#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

using State = api::AllocatedAddress::State;
namespace problem = api::problem;

class pool_api : public ObjectApiFixture {
 protected:
  std::vector<std::string> pools_seen_with(std::string token) {
    net::Response response = ask("GET", "/v1/pools", "", {}, std::move(token));
    std::vector<std::string> names;
    for (const api::Pool& pool : api::decode_pool_list(response.body)->items) {
      names.push_back(pool.name);
    }
    return names;
  }
  api::AddressList addresses(std::string query = "") {
    net::Response response = ask("GET", "/v1/owners/prod/addresses" + query);
    Result<api::AddressList> list = api::decode_address_list(response.body);
    EXPECT_TRUE(list) << response.body;
    return list.value_or(api::AddressList{});
  }
  void find_orphan() { ledger.found_in_kernel({{{"prod", "lost"}, {7, {ip("192.0.2.6")}}}}, {}); }
};

TEST_F(pool_api, an_owner_sees_the_pools_it_may_use) {
  EXPECT_EQ(pools_seen_with("admin-token"), (std::vector<std::string>{"private", "public"}));
  EXPECT_EQ(pools_seen_with("owner-token"), (std::vector<std::string>{"private", "public"}));
  EXPECT_EQ(pools_seen_with("test-token"), (std::vector<std::string>{"public"}));
  EXPECT_EQ(suffix(ask("GET", "/v1/pools/private", "", {}, "test-token")), problem::pool_not_found);
  EXPECT_EQ(suffix(ask("GET", "/v1/pools/none")), problem::pool_not_found);
}

TEST_F(pool_api, a_pool_says_how_much_of_it_is_used) {
  put_balancer("web");
  api::Pool pool = api::decode_pool(ask("GET", "/v1/pools/public").body).value();
  ASSERT_EQ(pool.use.size(), 1u);
  EXPECT_EQ(pool.use[0].total, 8u);
  EXPECT_EQ(pool.use[0].held, 1u);
  EXPECT_EQ(pool.use[0].free, 7u);
}

TEST_F(pool_api, an_address_says_who_holds_it_or_held_it_a_moment_ago) {
  put_balancer("web");
  put_balancer("old");
  ask("DELETE", path("old"));
  ASSERT_TRUE(world.run(ledger.finalize({{"prod", "old"}})));
  find_orphan();
  auto list = addresses();
  ASSERT_EQ(list.items.size(), 3u);
  EXPECT_EQ(list.items[0].state, State::held);
  EXPECT_EQ(list.items[0].holders, (std::vector<std::string>{"web"}));
  EXPECT_EQ(list.items[0].host, "lb1");
  EXPECT_EQ(list.items[1].state, State::cooling);
  EXPECT_TRUE(list.items[1].free_at);
  EXPECT_EQ(list.items[2].state, State::orphan);
  EXPECT_EQ(list.items[2].pool, "public");
  EXPECT_EQ(to_string(list.items[2].address), "192.0.2.6");
  world.advance(std::chrono::minutes(6));
  EXPECT_EQ(addresses().items.size(), 2u);
}

TEST_F(pool_api, addresses_are_paged) {
  for (char c = 'a'; c <= 'c'; ++c) put_balancer(std::string(1, c));
  auto first = addresses("?limit=2");
  EXPECT_EQ(first.items.size(), 2u);
  auto second = addresses("?limit=2&continue=" + first.continue_token);
  ASSERT_EQ(second.items.size(), 1u);
  EXPECT_LT(first.items[1].address, second.items[0].address);
  EXPECT_TRUE(second.continue_token.empty());
}

TEST_F(pool_api, an_owner_sees_itself_and_an_admin_everybody_who_has_anything) {
  put_balancer("web");
  ask("PUT", set_path("nodes"), set_body());
  auto seen = [this](std::string token) {
    return api::decode_owner_list(ask("GET", "/v1/owners", "", {}, std::move(token)).body)->items;
  };
  const api::Owner prod{"prod", 1, 1, 1};
  EXPECT_EQ(seen("admin-token"), (std::vector<api::Owner>{prod}));
  EXPECT_EQ(seen("owner-token"), (std::vector<api::Owner>{prod}));
  EXPECT_EQ(seen("test-token"), (std::vector<api::Owner>{{"test", 0, 0, 0}}));
}

TEST_F(pool_api, an_orphan_is_listed_until_it_is_given_up_or_put_again) {
  find_orphan();
  auto list = api::decode_orphan_list(ask("GET", "/v1/orphans").body);
  ASSERT_EQ(list->items.size(), 1u);
  EXPECT_EQ(list->items[0].generation, 7u);
  EXPECT_FALSE(list->items[0].abandoned);
  net::Response given_up = ask("DELETE", "/v1/orphans/prod/lost");
  EXPECT_EQ(given_up.status, 202);
  EXPECT_TRUE(api::decode_orphan(given_up.body)->abandoned);
  EXPECT_EQ(ask("DELETE", "/v1/orphans/prod/lost").status, 202);
  EXPECT_EQ(suffix(ask("DELETE", "/v1/orphans/prod/web")), problem::orphan_not_found);
  EXPECT_EQ(suffix(ask("DELETE", "/v1/orphans/prod/lost", "", {}, "owner-token")),
            problem::forbidden);
  EXPECT_TRUE(log.mentions("kind=\"Orphan\" owner=\"prod\" name=\"lost\" generationBefore=7"));
}

TEST_F(pool_api, a_put_of_its_name_adopts_an_orphan_with_its_address) {
  find_orphan();
  api::LoadBalancer adopted = balancer_in(put_balancer("lost"));
  EXPECT_EQ(adopted.status.addresses, (std::vector<IpAddress>{ip("192.0.2.6")}));
  EXPECT_GT(adopted.metadata.generation, 7u);
}

}  // namespace
}  // namespace isthmus::infra

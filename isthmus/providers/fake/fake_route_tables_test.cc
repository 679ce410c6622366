#include "isthmus/providers/fake/fake_route_tables.h"

#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::providers::fake {
namespace {

using namespace std::chrono_literals;
using Standing = cloud::RouteState::Standing;

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

struct fake_route_tables : testing::Test {
  fake_route_tables() {
    cloud.add("1", "node1");
    cloud.add("2", "node2");
  }
  Result<cloud::RouteTableState> ensure() { return world.run(cloud.route_tables.ensure(wish)); }
  cloud::RouteTableState now() { return world.run(cloud.route_tables.get("pods")).value(); }
  const FakeRoute& truth(std::string_view text) { return cloud.router.standing.at(prefix(text)); }

  VirtualWorld world;
  FakeProvider cloud;
  cloud::RouteTableSpec wish{
      .name = "pods",
      .ranges = {prefix("10.244.0.0/16")},
      .routes = {{.destination = prefix("10.244.1.0/24"), .instance = {{"fake", "1"}}},
                 {.destination = prefix("10.244.2.0/24"), .instance = {{"fake", "2"}}}}};
};

TEST_F(fake_route_tables, are_put_into_effect_after_a_while) {
  cloud.route_tables.apply_after = 2s;
  const auto made = ensure();
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->settled);
  EXPECT_EQ(made->routes[0].standing, Standing::pending);
  EXPECT_TRUE(cloud.router.standing.empty());
  world.advance(2s);
  EXPECT_TRUE(now().settled);
  EXPECT_EQ(now().routes[1].standing, Standing::applied);
  EXPECT_EQ(truth("10.244.1.0/24").instance, (cloud::ProviderId{"fake", "1"}));
  EXPECT_TRUE(ensure());
  EXPECT_EQ(cloud.route_tables.writes, 1U);
}

TEST_F(fake_route_tables, replace_a_route_and_take_away_what_is_no_longer_wanted) {
  ASSERT_TRUE(ensure());
  wish.routes = {{.destination = prefix("10.244.1.0/24"), .instance = {{"fake", "2"}}}};
  const auto changed = ensure();
  EXPECT_EQ(changed->generation, 2U);
  EXPECT_EQ(cloud.router.standing.size(), 1U);
  EXPECT_EQ(truth("10.244.1.0/24").instance, (cloud::ProviderId{"fake", "2"}));
  EXPECT_TRUE(world.run(cloud.route_tables.release("pods")));
  EXPECT_TRUE(cloud.router.standing.empty());
  EXPECT_EQ(world.run(cloud.route_tables.get("pods")).outcome(), Outcome::absent);
}

TEST_F(fake_route_tables, leave_foreign_routes_in_their_place) {
  cloud.router.standing[prefix("10.244.1.0/24")] = {.is_foreign = true};
  ASSERT_TRUE(ensure());
  EXPECT_EQ(now().routes[0].standing, Standing::conflict);
  EXPECT_EQ(now().routes[0].reason, "ForeignRoute");
  wish.routes.clear();
  ASSERT_TRUE(ensure());
  EXPECT_TRUE(truth("10.244.1.0/24").is_foreign);
  EXPECT_EQ(cloud.router.standing.size(), 1U);
}

TEST_F(fake_route_tables, refuse_single_routes_and_tables_that_make_no_sense) {
  cloud.route_tables.refused = {prefix("10.244.1.0/24")};
  const auto made = ensure();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->routes[0].standing, Standing::refused);
  EXPECT_EQ(made->routes[1].standing, Standing::applied);
  wish.routes.push_back(wish.routes[1]);
  EXPECT_EQ(ensure().outcome(), Outcome::invalid);
  wish.routes = {{.destination = prefix("10.0.0.0/24"), .instance = {{"fake", "1"}}}};
  EXPECT_EQ(ensure().outcome(), Outcome::invalid);
}

TEST_F(fake_route_tables, tell_who_follows_what_becomes_of_them) {
  cloud.route_tables.apply_after = 1s;
  std::vector<std::string> told;
  Scope scope(world.loop);
  scope.spawn(
      [](FakeRouteTables& tables, std::vector<std::string>& words) {
        return tables.follow("pods", [&words](std::optional<cloud::RouteTableState> table) {
          words.emplace_back(!table ? "none" : table->settled ? "settled" : "pending");
        });
      },
      std::ref(cloud.route_tables), std::ref(told));
  world.advance(1ms);
  ASSERT_TRUE(ensure());
  world.advance(2s);
  cloud.router.down.insert(prefix("10.244.1.0/24"));
  cloud.route_tables.touched("pods");
  EXPECT_EQ(now().routes[0].reason, "LinkDown");
  EXPECT_EQ(world.run(cloud.route_tables.release("pods")).outcome(), Outcome::busy);
  world.advance(2s);
  const std::vector<std::string> words{"none", "pending", "settled", "settled", "pending", "none"};
  EXPECT_EQ(told, words);
  cloud.route_tables.cut_follows();
  world.advance(1ms);
  EXPECT_EQ(cloud.route_tables.followers(), 0U);
}

TEST_F(fake_route_tables, say_of_a_route_that_its_machine_is_unknown_and_keep_what_stands) {
  ASSERT_TRUE(ensure());
  wish.routes[0].instance->id = "7";
  ASSERT_TRUE(ensure());
  EXPECT_EQ(now().routes[0].standing, Standing::pending);
  EXPECT_EQ(now().routes[0].reason, "InstanceUnknown");
  EXPECT_EQ(truth("10.244.1.0/24").instance, (cloud::ProviderId{"fake", "1"}));
}

TEST_F(fake_route_tables, give_no_range_to_two_owners) {
  FakeProvider other;
  other.route_tables.share_ranges_with(cloud.route_tables);
  ASSERT_TRUE(ensure());
  EXPECT_EQ(world.run(other.route_tables.ensure(wish)).outcome(), Outcome::conflict);
}

TEST_F(fake_route_tables, are_unsupported_when_told) {
  cloud.route_tables.supported = false;
  EXPECT_EQ(ensure().outcome(), Outcome::unsupported);
  cloud.has_route_tables = false;
  EXPECT_EQ(cloud.capabilities().route_tables, nullptr);
  EXPECT_EQ(cloud.capabilities().routes, nullptr);
}

}  // namespace
}  // namespace isthmus::providers::fake

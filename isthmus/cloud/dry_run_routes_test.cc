#include "isthmus/cloud/dry_run_routes.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::cloud {
namespace {

using providers::fake::FakeProvider;

Route route(int number, std::string machine) {
  return {.destination = parse_prefix("10.244." + std::to_string(number) + ".0/24").value(),
          .instance = ProviderId{"fake", std::move(machine)}};
}

RouteTableSpec table(std::vector<Route> routes) {
  return {.name = "pods",
          .ranges = {parse_prefix("10.244.0.0/16").value()},
          .routes = std::move(routes)};
}

struct dry_run_routes : testing::Test {
  dry_run_routes() {
    for (const char* id : {"m1", "m2", "m3"}) cloud.add(id, id);
  }
  std::vector<std::string> told() const {
    std::vector<std::string> lines;
    for (const MemoryLogger::Line& line : log.lines) lines.push_back(line.text);
    return lines;
  }

  VirtualWorld world;
  FakeProvider cloud;
  MemoryLogger log;
  DryRunRouteTables tables{cloud.route_tables, log};
  DryRunRoutes routes{cloud.routes, log};
};

TEST_F(dry_run_routes, a_table_that_would_be_made_is_told_with_its_routes_and_shown) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(world.run(tables.ensure(table({route(1, "m1"), route(2, "m2")}))));
  }
  EXPECT_EQ(told(), std::vector<std::string>{
                        R"("would create route table" name="pods" routes=2 )"
                        R"(changes="+10.244.1.0/24 via fake://m1; +10.244.2.0/24 via fake://m2")"});
  const auto state = world.run(tables.get("pods"));
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->settled);
  EXPECT_TRUE(is_about(state->routes.at(1), route(2, "m2")));
  EXPECT_TRUE(cloud.route_tables.standing.empty());
  EXPECT_TRUE(cloud.router.standing.empty());
}

TEST_F(dry_run_routes, a_table_that_stands_as_it_should_is_answered_as_it_is) {
  const RouteTableSpec wish = table({route(1, "m1")});
  ASSERT_TRUE(world.run(cloud.route_tables.ensure(wish)));
  EXPECT_EQ(world.run(tables.ensure(wish)), world.run(cloud.route_tables.get("pods")));
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(dry_run_routes, a_change_of_a_table_names_what_comes_moves_and_goes) {
  ASSERT_TRUE(world.run(cloud.route_tables.ensure(table({route(1, "m1"), route(2, "m2")}))));
  EXPECT_TRUE(world.run(tables.ensure(table({route(1, "m3"), route(3, "m3")}))));
  EXPECT_EQ(told(), std::vector<std::string>{
                        R"("would change route table" name="pods" routes=2 )"
                        R"(changes="~10.244.1.0/24 via fake://m3; +10.244.3.0/24 via fake://m3; )"
                        R"(-10.244.2.0/24")"});
  EXPECT_EQ(world.run(tables.get("pods"))->routes.size(), 2U);
  cloud.route_tables.touched("pods", true);
  EXPECT_TRUE(is_about(world.run(tables.get("pods"))->routes.at(0), route(1, "m1")))
      << "somebody really changed it";
}

TEST_F(dry_run_routes, a_table_is_released_in_thought_only) {
  EXPECT_TRUE(world.run(tables.release("pods"))) << "there is none";
  EXPECT_TRUE(log.lines.empty());
  ASSERT_TRUE(world.run(cloud.route_tables.ensure(table({route(1, "m1")}))));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(world.run(tables.release("pods")));
  EXPECT_EQ(told(),
            std::vector<std::string>{R"("would release route table" name="pods" routes=1)"});
  EXPECT_EQ(world.run(tables.get("pods")).outcome(), Outcome::absent);
  EXPECT_TRUE(world.run(cloud.route_tables.get("pods")));
}

TEST_F(dry_run_routes, news_of_a_table_show_what_was_imagined) {
  EXPECT_TRUE(world.run(tables.ensure(table({route(1, "m1")}))));
  std::vector<std::size_t> heard;
  Scope scope(world.loop);
  scope.spawn(&DryRunRouteTables::follow, &tables, "pods",
              RouteTables::Tell([&heard](const std::optional<RouteTableState>& state) {
                heard.push_back(state ? state->routes.size() : 0);
              }));
  world.settle();
  EXPECT_EQ(heard, std::vector<std::size_t>{1});
}

TEST_F(dry_run_routes, single_routes_are_made_replaced_and_released_in_thought_only) {
  ASSERT_TRUE(world.run(cloud.routes.ensure(route(1, "m1"))));
  ASSERT_TRUE(world.run(cloud.routes.ensure(route(2, "m2"))));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(world.run(routes.ensure(route(1, "m3"))));
    EXPECT_TRUE(world.run(routes.ensure(route(2, "m2")))) << "stands already";
    EXPECT_TRUE(world.run(routes.ensure(route(3, "m3"))));
  }
  const auto shown = world.run(routes.list());
  ASSERT_EQ(shown->items.size(), 3U);
  EXPECT_TRUE(is_about(shown->items[0], route(1, "m3")));
  EXPECT_TRUE(world.run(routes.release(shown->items[1])));
  EXPECT_EQ(world.run(routes.list())->items.size(), 2U);
  EXPECT_EQ(told(), (std::vector<std::string>{
                        R"("would replace route" route="10.244.1.0/24 via fake://m3")",
                        R"("would create route" route="10.244.3.0/24 via fake://m3")",
                        R"("would release route" route="10.244.2.0/24")"}));
  EXPECT_EQ(cloud.router.standing.size(), 2U);
  EXPECT_EQ(cloud.routes.writes, 2U) << "by us none";
}

TEST_F(dry_run_routes, a_route_of_somebody_else_is_refused_as_the_cloud_would) {
  cloud.router.standing[route(1, "m1").destination] = {.is_foreign = true};
  EXPECT_EQ(world.run(routes.ensure(route(1, "m1"))).outcome(), Outcome::conflict);
  EXPECT_EQ(world
                .run(routes.release({.destination = route(1, "m1").destination,
                                     .instance = ProviderId{"fake", "m1"}}))
                .outcome(),
            Outcome::conflict);
  EXPECT_TRUE(world.run(routes.release({.destination = route(2, "m1").destination})));
  EXPECT_TRUE(log.lines.empty());
}

}  // namespace
}  // namespace isthmus::cloud

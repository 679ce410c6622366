#include "isthmus/controllers/route_outlook.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/controllers/route.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::controllers {
namespace {

const cloud::ClusterUid kUid = *cloud::ClusterUid::parse("11111111-1111-1111-1111-111111111111");

cloud::Route route(int number, std::string machine) {
  return {.destination = *parse_prefix("10.244." + std::to_string(number) + ".0/24"),
          .instance = cloud::ProviderId{"fake", std::move(machine)}};
}

cloud::RouteState state(int number, std::string machine) {
  const cloud::Route wanted = route(number, std::move(machine));
  return {.destination = wanted.destination,
          .instance = wanted.instance,
          .standing = cloud::RouteState::Standing::applied};
}

// "route/10.244.1.0/24 create to fake://m1 of node n1 [detail; …]".
std::string text_of(const Outlook& outlook) {
  std::string text = name_of(outlook) + " " + std::string(to_string(outlook.act));
  if (!outlook.reason.empty()) text += " " + outlook.reason;
  text += " " + outlook.message;
  for (const std::string& detail : outlook.details) text += " [" + detail + "]";
  return text;
}

std::string text_of(RoutePlan plan) {
  const std::vector<Outlook> all = outlooks_of(plan);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? "" : text_of(all.front());
}

TEST(route_outlook, names_what_comes_moves_and_goes) {
  const kube::ObjectKey node{.name = "n1"};
  EXPECT_EQ(
      text_of(RoutePlan{
          .routes = {{.route = route(1, "m1"), .step = PlannedRoute::Step::create, .node = node}}}),
      "route/10.244.1.0/24 create to fake://m1 of node n1");
  EXPECT_EQ(text_of(RoutePlan{.routes = {{.route = route(1, "m1"),
                                          .step = PlannedRoute::Step::move,
                                          .node = node,
                                          .present = state(1, "m2")}}}),
            "route/10.244.1.0/24 update to fake://m1 of node n1 [instead of to fake://m2]");
  EXPECT_EQ(text_of(RoutePlan{.ownerless = {state(9, "m9")}}),
            "route/10.244.9.0/24 release Ownerless no Node has it; it goes when that is still so "
            "a minute later [to fake://m9]");
}

TEST(route_outlook, says_what_the_cloud_says_of_a_route_that_is_asked_for) {
  const auto kept = [](cloud::RouteState::Standing standing, std::string reason) {
    cloud::RouteState present = state(1, "m1");
    present.standing = standing;
    present.reason = std::move(reason);
    present.message = present.reason.empty() ? "" : "the link is down";
    return text_of(RoutePlan{.routes = {{.route = route(1, "m1"), .present = present}}});
  };
  using Standing = cloud::RouteState::Standing;
  EXPECT_EQ(kept(Standing::applied, ""), "route/10.244.1.0/24 none to fake://m1");
  EXPECT_EQ(kept(Standing::pending, "LinkDown"),
            "route/10.244.1.0/24 wait LinkDown to fake://m1 [the link is down]");
  EXPECT_EQ(kept(Standing::conflict, "Foreign"),
            "route/10.244.1.0/24 refuse Foreign to fake://m1 [the link is down]");
}

TEST(route_outlook, says_why_a_node_gets_none) {
  RoutePlan plan;
  plan.nodes[{.name = "n1"}].notices = {{true, "InvalidPodCIDR", "x is no CIDR"}};
  EXPECT_EQ(text_of(plan), "node/n1 refuse InvalidPodCIDR x is no CIDR");
}

struct present_route : testing::Test {
  present_route() { cloud.add("m1", "n1"); }
  VirtualWorld world;
  providers::fake::FakeProvider cloud;
};

TEST_F(present_route, of_a_table_that_does_not_exist_are_none) {
  const auto none = world.run(present_routes(kUid, cloud));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
  ASSERT_TRUE(
      world.run(cloud.route_tables.ensure({.name = cloud::cluster_name(kRouteTableKind, kUid),
                                           .ranges = {*parse_prefix("10.244.0.0/16")},
                                           .routes = {route(1, "m1")}})));
  EXPECT_EQ(world.run(present_routes(kUid, cloud))->size(), 1U);
  cloud.faults.error = Error{Outcome::lost, "cut"};
  EXPECT_EQ(world.run(present_routes(kUid, cloud)).outcome(), Outcome::lost);
}

TEST_F(present_route, of_a_cloud_that_is_told_each_are_listed) {
  cloud.has_route_tables = false;
  cloud.has_routes = true;
  ASSERT_TRUE(world.run(cloud.routes.ensure(route(1, "m1"))));
  EXPECT_EQ(world.run(present_routes(kUid, cloud))->size(), 1U);
}

}  // namespace
}  // namespace isthmus::controllers

#include "isthmus/providers/infra/translate_routes.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/load_balancer.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using Standing = cloud::RouteState::Standing;

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

api::RouteTable table_with(api::RouteState state, std::string reason) {
  api::RouteTable table;
  table.metadata.name = "pods";
  table.metadata.generation = 3;
  table.spec.cluster_cidrs = {prefix("10.244.0.0/16")};
  table.spec.routes = {{.destination = prefix("10.244.1.0/24"), .instance = "m1"}};
  table.status.observed_generation = 3;
  table.status.applied_generation = 3;
  table.status.routes = {{.destination = prefix("10.244.1.0/24"),
                          .state = state,
                          .reason = std::move(reason),
                          .message = "so it is"}};
  return table;
}

cloud::RouteState first(api::RouteTable table) {
  return to_cloud("isthmus", std::move(table)).routes.at(0);
}

TEST(routes_in_both_languages, are_written_with_what_is_known_of_them) {
  cloud::RouteTableSpec spec{.name = "pods",
                             .labels = {{"a", "b"}},
                             .ranges = {prefix("10.244.0.0/16")},
                             .routes = {{.destination = prefix("10.244.1.0/24"),
                                         .instance = {{"isthmus", "m1"}},
                                         .next_hop = parse_ip("10.0.0.1").value()}}};
  const api::RouteTable said = to_api(spec);
  EXPECT_EQ(said.metadata.name, "pods");
  EXPECT_EQ(said.metadata.labels, spec.labels);
  EXPECT_EQ(said.spec.cluster_cidrs, spec.ranges);
  EXPECT_EQ(said.spec.routes[0].instance, "m1");
  EXPECT_EQ(said.spec.routes[0].next_hop, spec.routes[0].next_hop);
}

TEST(routes_in_both_languages, stand_as_the_server_says) {
  EXPECT_EQ(first(table_with(api::RouteState::applied, "")).standing, Standing::applied);
  const cloud::RouteState conflict = first(table_with(api::RouteState::conflict, "ForeignRoute"));
  EXPECT_EQ(conflict.standing, Standing::conflict);
  EXPECT_EQ(conflict.reason, "ForeignRoute");
  EXPECT_EQ(conflict.message, "so it is");
  EXPECT_EQ(first(table_with(api::RouteState::pending, "LinkDown")).reason, "LinkDown");
}

TEST(routes_in_both_languages, have_no_reason_before_the_server_has_looked_at_them) {
  EXPECT_EQ(first(table_with(api::RouteState::pending, "Pending")).reason, "");
  api::RouteTable changed = table_with(api::RouteState::applied, "");
  changed.metadata.generation = 4;
  EXPECT_EQ(first(changed).standing, Standing::pending);
  EXPECT_FALSE(to_cloud("isthmus", changed).settled);
  EXPECT_EQ(first(changed).reason, "");
}

TEST(routes_in_both_languages, are_settled_when_all_was_done_and_it_is_not_leaving) {
  api::RouteTable table = table_with(api::RouteState::conflict, "ForeignRoute");
  EXPECT_TRUE(to_cloud("isthmus", table).settled);
  table.metadata.deletion_requested_at = WallTime();
  EXPECT_FALSE(to_cloud("isthmus", table).settled);
  EXPECT_TRUE(to_cloud("isthmus", table).is_leaving);
}

TEST(routes_in_both_languages, to_nobody_known_have_no_machine) {
  api::RouteTable table = table_with(api::RouteState::applied, "");
  table.spec.routes[0].instance.clear();
  EXPECT_EQ(first(table).instance, std::nullopt);
}

TEST(routes_in_both_languages, that_the_host_holds_and_nobody_knows_are_routes_to_a_next_hop) {
  api::RouteTable table = table_with(api::RouteState::applied, "");
  const IpAddress next_hop = parse_ip("10.0.0.9").value();
  table.status.orphans = {{prefix("10.244.0.0/24"), next_hop},
                          {prefix("10.244.1.0/24"), next_hop},
                          {prefix("10.244.2.0/24"), std::nullopt}};
  const std::vector<cloud::RouteState> routes = to_cloud("isthmus", table).routes;
  ASSERT_EQ(routes.size(), 2U) << "one is named meanwhile, and one could not be";
  EXPECT_EQ(routes[0], (cloud::RouteState{.destination = prefix("10.244.0.0/24"),
                                          .next_hop = next_hop,
                                          .standing = Standing::applied}));
  EXPECT_TRUE(routes[1].instance);
}

// Who names all that he is shown has room for them, and for as many Nodes that come meanwhile.
TEST(routes_in_both_languages, that_nobody_knows_are_shown_as_far_as_the_table_has_room) {
  const auto shown = [](std::size_t named) {
    api::RouteTable table = table_with(api::RouteState::applied, "");
    table.spec.routes.resize(named, table.spec.routes[0]);
    for (int i = 2; i < 5; ++i) {
      table.status.orphans.push_back(
          {prefix("10.244." + std::to_string(i) + ".0/24"), parse_ip("10.0.0.9").value()});
    }
    return to_cloud("isthmus", table).routes.size() - named;
  };
  EXPECT_EQ(shown(api::kRoutesMax - 6), 3U);
  EXPECT_EQ(shown(api::kRoutesMax - 5), 2U);
  EXPECT_EQ(shown(api::kRoutesMax - 1), 0U);
  EXPECT_EQ(shown(api::kRoutesMax), 0U);
}

TEST(routes_in_both_languages, tell_what_is_wrong_with_the_whole_host) {
  api::RouteTable table = table_with(api::RouteState::pending, "RoutesFailed");
  set(table.status.conditions, {.type = std::string(api::condition::ready),
                                .status = api::ConditionStatus::is_false,
                                .reason = "ForwardingOff",
                                .message = "net.ipv4.ip_forward is 0"});
  ASSERT_EQ(to_cloud("isthmus", table).facts.size(), 1U);
  EXPECT_EQ(to_cloud("isthmus", table).facts[0].reason, "ForwardingOff");
  set(table.status.conditions, {.type = std::string(api::condition::ready),
                                .status = api::ConditionStatus::is_false,
                                .reason = "RouteConflict"});
  EXPECT_TRUE(to_cloud("isthmus", table).facts.empty());
}

}  // namespace
}  // namespace isthmus::providers::infra

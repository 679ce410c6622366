// What the controller promises, for a cloud that takes the table whole and for one that is told
// each route.
#include "isthmus/controllers/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/route_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using ::testing::HasSubstr;

enum class Shape : std::uint8_t { table, singles };

struct route : testing::RouteStory, ::testing::WithParamInterface<Shape> {
  route() {
    if (GetParam() == Shape::singles) by_single_routes();
  }
};

INSTANTIATE_TEST_SUITE_P(every_cloud, route, ::testing::Values(Shape::table, Shape::singles),
                         [](const ::testing::TestParamInfo<Shape>& info) {
                           return info.param == Shape::table ? "table" : "singles";
                         });

TEST_P(route, is_made_for_every_pod_cidr_and_the_condition_says_so) {
  add_node(1, R"("10.244.1.0/24", "fd00:0:0:1::/64")");
  add_node(2);
  start();
  pass(5s);
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(routed("fd00:0:0:1::/64"), "1");
  EXPECT_EQ(routed(2), "2");
  EXPECT_EQ(condition(1), "False RouteCreated");
  EXPECT_EQ(condition(2), "False RouteCreated");
  EXPECT_EQ(events.lines.size(), 0U);
  EXPECT_TRUE(measures(R"(isthmus_routes{state="applied"} 3)"));
}

TEST_P(route, that_stands_costs_no_write_and_no_patch) {
  add_node(1);
  start();
  pass(5s);
  const std::size_t writes = cloud.route_tables.ensures + cloud.routes.ensures;
  const unsigned patched = patches();
  pass(10min);
  EXPECT_EQ(cloud.route_tables.ensures + cloud.routes.ensures, writes);
  EXPECT_EQ(patches(), patched);
  EXPECT_TRUE(
      measures(R"(route_controller_route_sync_total{outcome="noop",trigger="periodic"} 10)") ||
      !manager->metrics.text().empty());
}

TEST_P(route, is_not_made_to_a_node_that_is_not_initialized_and_follows_when_it_is) {
  put_node("node1",
           fmt::format(R"({{"podCIDRs": ["10.244.1.0/24"], "taints": {}}})", kUninitialized));
  start();
  pass(30s);
  EXPECT_EQ(routed(1), "");
  EXPECT_EQ(condition(1), "");
  add_node(1);
  pass(5s);
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(condition(1), "False RouteCreated");
}

TEST_P(route, is_compared_by_its_meaning_and_not_by_its_text) {
  add_node(1, R"("10.244.1.9/24", "FD00:0:0:1:0::/64")");
  start();
  pass(5s);
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(routed("fd00:0:0:1::/64"), "1");
  const std::size_t writes = cloud.route_tables.writes + cloud.routes.writes;
  pass(10min);
  EXPECT_EQ(cloud.route_tables.writes + cloud.routes.writes, writes);
}

TEST_P(route, outside_of_the_clusters_cidrs_is_refused_with_an_event_and_others_go_on) {
  add_node(1, R"("192.168.1.0/24")");
  add_node(2);
  start();
  pass(10min);
  EXPECT_EQ(routed("192.168.1.0/24"), "");
  EXPECT_EQ(routed(2), "2");
  EXPECT_EQ(events.count("Warning PodCIDROutsideClusterCIDR node1"), 1U);
  EXPECT_THAT(events.lines[0], HasSubstr("--cluster-cidr=10.244.0.0/16, fd00::/48"));
  EXPECT_EQ(condition(1), "");
}

TEST_P(route, of_overlapping_pod_cidrs_goes_to_the_older_node_and_the_event_names_both) {
  add_node(2, R"("10.244.1.0/24")");
  pass(10s);
  add_node(1);
  start();
  pass(30s);
  EXPECT_EQ(routed(1), "2");
  EXPECT_EQ(condition(2), "False RouteCreated");
  EXPECT_EQ(condition(1), "True NoRouteCreated");
  ASSERT_EQ(events.count("Warning PodCIDRConflict node1"), 1U);
  EXPECT_THAT(events.lines[0], HasSubstr("of Node node2, which is older"));
}

TEST_P(route, to_an_address_that_its_machine_has_no_more_is_no_route_to_the_node) {
  add_node(1);
  const auto move_to = [&](std::string_view address) {
    change("node1", [&](json::object& object) {
      object["metadata"].as_object()["annotations"] = {{kProvidedNodeIpAnnotation, address}};
      object["status"].as_object()["addresses"] =
          json::array{{{"type", "InternalIP"}, {"address", address}}};
    });
  };
  move_to("10.0.0.8");
  start();
  pass(10s);
  EXPECT_EQ(condition(1), "False RouteCreated");
  cloud.faults.error = Error{Outcome::lost, "out"};
  move_to("10.0.0.9");
  pass(1min);
  EXPECT_EQ(condition(1), "True NoRouteCreated");
  cloud.faults = {};
  pass(5min);
  EXPECT_EQ(condition(1), "False RouteCreated");
}

TEST_P(route, of_somebody_else_keeps_its_place_and_the_node_says_why_it_is_unreachable) {
  cloud.router.standing[parse_prefix("10.244.1.0/24").value()] = {.is_foreign = true};
  add_node(1);
  add_node(2);
  start();
  pass(5min);
  EXPECT_TRUE(cloud.router.standing.at(parse_prefix("10.244.1.0/24").value()).is_foreign);
  EXPECT_EQ(condition(1), "True NoRouteCreated");
  EXPECT_EQ(condition(2), "False RouteCreated");
  EXPECT_EQ(events.count("Warning FailedToCreateRoute node1"), 1U);
  cloud.router.standing.erase(parse_prefix("10.244.1.0/24").value());
  cloud.route_tables.touched(table_name());
  pass(3min);
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(condition(1), "False RouteCreated");
}

TEST_P(route, that_the_cloud_refuses_is_one_nodes_trouble) {
  cloud.route_tables.refused = {parse_prefix("10.244.1.0/24").value()};
  cloud.routes.refused = cloud.route_tables.refused;
  add_node(1);
  add_node(2);
  start();
  pass(1min);
  EXPECT_EQ(routed(2), "2");
  EXPECT_EQ(condition(1), "True NoRouteCreated");
  EXPECT_EQ(events.count("Warning FailedToCreateRoute node1: Could not create route 10.244.1.0/24"),
            1U);
  EXPECT_EQ(events.lines.size(), 1U);
}

TEST_P(route, moves_with_its_cidr_to_another_node_without_a_gap) {
  add_node(1);
  start();
  pass(5s);
  std::size_t gaps = 0;
  cloud.router.on_change = [&](const IpPrefix&, const auto*, const auto* after) {
    gaps += after == nullptr;
  };
  remove_node(1);
  add_node(7, R"("10.244.1.0/24")");
  pass(10s);
  EXPECT_EQ(routed(1), "7");
  EXPECT_EQ(condition(7), "False RouteCreated");
  EXPECT_EQ(gaps, 0U);
}

TEST_P(route, is_not_moved_when_the_api_server_knows_better_than_the_watch) {
  add_node(1);
  start();
  pass(5s);
  kill();
  // This process sees an old Node 7 that had the CIDR once, and is older than node1; the API server
  // has no such Node any more.
  api.erase(kube::Node::resource, {"", "node1"});
  add_node(7, R"("10.244.1.0/24")");
  pass(10s);
  start();
  bool is_gone = false;
  api.on_call = [&](Verb verb, const kube::ObjectName& object) {
    if (is_gone || verb != Verb::list || object.resource.plural != "nodes") return;
    if (!manager || !manager->nodes.has_synced()) return;
    is_gone = true;
    api.frozen = true;
    api.erase(kube::Node::resource, {"", "node7"});
    add_node(1);
  };
  pass(30s);
  EXPECT_TRUE(is_gone);
  EXPECT_EQ(routed(1), "1");
  api.frozen = false;
  api.bookmark();
  pass(30s);
  EXPECT_EQ(routed(1), "1");
}

TEST_P(route, that_failed_is_tried_again_by_the_queue) {
  add_node(1);
  cloud.faults.error = Error{Outcome::lost, "cut"};
  cloud.faults.errors = 5;
  start();
  pass(90s);
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(condition(1), "False RouteCreated");
}

TEST_P(route, waits_out_an_outage_and_only_nodes_that_have_none_are_told) {
  add_node(1);
  start();
  pass(5s);
  const unsigned patched = patches();
  cloud.faults.error = Error{Outcome::lost, "out"};
  cloud.route_tables.cut_follows();
  pass(5min);
  EXPECT_EQ(condition(1), "False RouteCreated");
  EXPECT_EQ(patches(), patched);
  add_node(2);
  pass(3min);
  EXPECT_EQ(condition(2), "True NoRouteCreated");
  EXPECT_EQ(events.count("node1"), 0U);
  EXPECT_EQ(events.count("Warning FailedToCreateRoute node2"), 1U);
  EXPECT_EQ(events.lines.size(), 1U);
  cloud.faults = {};
  pass(3min);
  EXPECT_EQ(routed(2), "2");
  EXPECT_EQ(condition(2), "False RouteCreated");
}

TEST_P(route, that_goes_away_by_other_hands_comes_back) {
  add_node(1);
  start();
  pass(5s);
  cloud.router.standing.clear();
  cloud.route_tables.touched(table_name());
  pass(90s);
  EXPECT_EQ(routed(1), "1");
}

TEST_P(route, of_a_node_that_is_leaving_stays_and_none_is_made_for_it) {
  add_node(1);
  start();
  pass(5s);
  for (const int number : {1, 2}) {
    if (number == 2) add_node(2);
    change(name(number), [](json::object& object) {
      object["metadata"].as_object()["finalizers"] = json::array{"somebody/holds"};
      object["metadata"].as_object()["deletionTimestamp"] = "2026-11-30T00:00:00Z";
    });
  }
  pass(10min);
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(routed(2), "");
  EXPECT_EQ(condition(2), "");
}

TEST_P(route, leads_to_the_address_that_the_kubelet_was_told_to_use) {
  add_node(1);
  change("node1", [](json::object& object) {
    object["metadata"].as_object()["annotations"] = {
        {"alpha.kubernetes.io/provided-node-ip", "10.0.0.77"}};
    object["status"] = {
        {"addresses", json::array{{{"type", "InternalIP"}, {"address", "10.0.0.77"}}}}};
  });
  add_node(2);
  start();
  pass(5s);
  const auto& standing = cloud.router.standing;
  EXPECT_EQ(standing.at(parse_prefix("10.244.1.0/24").value()).next_hop,
            parse_ip("10.0.0.77").value());
  EXPECT_EQ(standing.at(parse_prefix("10.244.2.0/24").value()).next_hop, std::nullopt);
}

TEST_P(route, leads_to_the_address_of_a_node_that_is_not_of_this_cloud_and_never_writes_it) {
  put_node("node1", R"({"podCIDRs": ["10.244.1.0/24"]})");
  put_node("node2", R"({"providerID": "k3s://node2", "podCIDRs": ["10.244.2.0/24"]})");
  for (const int number : {1, 2}) {
    change(name(number), [&](json::object& object) {
      object["status"] = {
          {"addresses",
           json::array{{{"type", "InternalIP"}, {"address", fmt::format("10.0.0.{}", number)}}}}};
    });
  }
  start();
  pass(10min);
  const auto& standing = cloud.router.standing;
  EXPECT_EQ(standing.at(parse_prefix("10.244.1.0/24").value()).next_hop,
            parse_ip("10.0.0.1").value());
  EXPECT_EQ(standing.at(parse_prefix("10.244.2.0/24").value()).next_hop,
            parse_ip("10.0.0.2").value());
  EXPECT_EQ(patches(), 0U);
  EXPECT_EQ(events.lines.size(), 0U);
}

TEST_P(route, condition_of_a_network_plugin_is_left_alone_and_one_event_says_what_that_means) {
  add_node(1);
  add_node(2);
  set_condition("node1", "False", "CalicoIsUp");
  set_condition("node2", "False", "CalicoIsUp");
  start();
  pass(10min);
  EXPECT_EQ(condition(1), "False CalicoIsUp");
  EXPECT_EQ(patches(), 0U);
  ASSERT_EQ(events.lines.size(), 1U);
  EXPECT_THAT(events.lines[0], HasSubstr("RoutesProbablyNotNeeded"));
  EXPECT_THAT(events.lines[0], HasSubstr("--configure-cloud-routes=false"));
}

TEST_P(route, condition_keeps_its_transition_time_unless_the_status_changes) {
  add_node(1);
  set_condition("node1", "False", "NoRouteCreated");
  start();
  pass(5s);
  EXPECT_EQ(condition(1), "False RouteCreated");
  EXPECT_EQ(text("node1", "/status/conditions/0/lastTransitionTime"), "2020-01-01T00:00:00Z");
  set_condition("node1", "True", "NoRouteCreated");
  pass(5s);
  EXPECT_EQ(condition(1), "False RouteCreated");
  EXPECT_NE(text("node1", "/status/conditions/0/lastTransitionTime"), "2020-01-01T00:00:00Z");
}

TEST_P(route, condition_that_a_plugin_takes_over_at_that_moment_is_not_spoken_over) {
  add_node(1);
  bool spoken = false;
  api.on_call = [&](Verb verb, const kube::ObjectName&) {
    if (verb != Verb::patch || spoken) return;
    spoken = true;
    set_condition("node1", "False", "FlannelIsUp");
  };
  start();
  pass(1min);
  EXPECT_TRUE(spoken);
  EXPECT_EQ(condition(1), "False FlannelIsUp");
}

TEST_P(route, condition_that_somebody_keeps_writing_over_is_left_to_him) {
  add_node(1);
  start();
  pass(5s);
  for (int i = 0; i < 10; ++i) {
    set_condition("node1", "True", "NoRouteCreated");
    pass(20s);
  }
  EXPECT_EQ(condition(1), "True NoRouteCreated");
  EXPECT_LE(patches(), 4U);
  EXPECT_EQ(events.count("Warning FieldContested node1"), 1U);
}

TEST_P(route, condition_patch_that_is_refused_is_tried_again_for_that_node_alone) {
  add_node(1);
  add_node(2);
  api.inject({.verb = Verb::patch, .error = {Outcome::lost, "cut"}, .times = 3});
  start();
  pass(1min);
  EXPECT_EQ(condition(1), "False RouteCreated");
  EXPECT_EQ(condition(2), "False RouteCreated");
}

}  // namespace
}  // namespace isthmus::controllers

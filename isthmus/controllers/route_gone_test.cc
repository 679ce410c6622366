// Routes without a Node: they go late, few at a time, and not while the Nodes we see may be a lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/controllers/route_testing.h"

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using kube::testing::Verb;
using ::testing::HasSubstr;

enum class Shape : std::uint8_t { table, singles };

struct route_gone : testing::RouteStory, ::testing::WithParamInterface<Shape> {
  route_gone() {
    if (GetParam() == Shape::singles) by_single_routes();
  }
  void start_with(int nodes) {
    for (int i = 1; i <= nodes; ++i) add_node(i);
    start();
    pass(20s);
  }
  void start_without_the_third(const std::string& cidr);
  std::size_t standing() const { return cloud.router.standing.size(); }
};

INSTANTIATE_TEST_SUITE_P(every_cloud, route_gone, ::testing::Values(Shape::table, Shape::singles),
                         [](const ::testing::TestParamInfo<Shape>& info) {
                           return info.param == Shape::table ? "table" : "singles";
                         });

TEST_P(route_gone, goes_after_two_passes_and_not_before_a_minute) {
  start_with(3);
  remove_node(2);
  pass(55s);
  EXPECT_EQ(routed(2), "2");
  pass(90s);
  EXPECT_EQ(routed(2), "");
  EXPECT_EQ(routed(1), "1");
  EXPECT_EQ(routed(3), "3");
  EXPECT_TRUE(measures("isthmus_routes_removed_total 1"));
}

TEST_P(route_gone, stays_when_its_node_comes_back_in_time) {
  start_with(3);
  remove_node(2);
  pass(50s);
  add_node(2);
  pass(10min);
  EXPECT_EQ(routed(2), "2");
  EXPECT_TRUE(measures("isthmus_routes_removed_total 0"));
}

TEST_P(route_gone, of_a_node_that_was_replaced_by_a_namesake_with_another_cidr_goes) {
  start_with(2);
  remove_node(2);
  pass(1ms);
  add_node(2, R"("10.244.77.0/24")");
  pass(5min);
  EXPECT_EQ(routed(2), "");
  EXPECT_EQ(routed(77), "2");
}

TEST_P(route_gone, is_begun_anew_by_the_next_process) {
  start_with(2);
  remove_node(2);
  pass(50s);
  kill();
  start();
  pass(50s);
  EXPECT_EQ(routed(2), "2");
  pass(90s);
  EXPECT_EQ(routed(2), "");
}

TEST_P(route_gone, stays_while_no_node_is_seen_at_all) {
  start_with(3);
  for (int i = 1; i <= 3; ++i) remove_node(i);
  pass(30min);
  EXPECT_EQ(standing(), 3U);
  EXPECT_EQ(events.count("Warning RouteRemovalWithheld kube-system: 3 routes"), 1U);
  EXPECT_TRUE(measures("isthmus_route_removals_withheld 3"));
  pass(1h);  // By now the API server has forgotten the event.
  EXPECT_EQ(events.count("RouteRemovalWithheld"), 2U);
  add_node(1);
  pass(5min);
  EXPECT_EQ(standing(), 1U);
  EXPECT_TRUE(measures("isthmus_route_removals_withheld 0"));
}

TEST_P(route_gone, stays_while_the_view_of_the_nodes_is_stale) {
  start_with(3);
  brakes.nodes_are_current = fail(Outcome::lost, "the watch of nodes is broken");
  remove_node(2);
  pass(30min);
  EXPECT_EQ(routed(2), "2");
  EXPECT_EQ(events.count("RouteRemovalWithheld"), 1U);
  EXPECT_THAT(events.lines[0], HasSubstr("the watch of nodes is broken"));
  brakes.nodes_are_current = {};
  pass(5min);
  EXPECT_EQ(routed(2), "");
}

TEST_P(route_gone, stays_while_a_node_cannot_be_read) {
  start_with(3);
  api.put(kube::Node::resource, R"({"metadata": {"name": "node9"}, "spec": {"podCIDRs": 7}})");
  remove_node(2);
  pass(30min);
  EXPECT_EQ(routed(2), "2");
  EXPECT_THAT(events.lines[0], HasSubstr("node9 among them"));
}

TEST_P(route_gone, stays_while_the_cloud_is_caught_lying) {
  start_with(3);
  brakes.deletions_are_safe = fail(Outcome::busy, "the cloud contradicts the cluster");
  remove_node(2);
  pass(9min);
  EXPECT_EQ(routed(2), "2");
  brakes.deletions_are_safe = {};
  pass(3min);
  EXPECT_EQ(routed(2), "");
}

TEST_P(route_gone, of_many_nodes_go_five_at_a_time_a_minute_apart) {
  start_with(30);
  for (int i = 11; i <= 30; ++i) remove_node(i);
  std::size_t most = 0;
  std::size_t before = standing();
  for (int second = 0; second < 900; ++second) {
    pass(1s);
    most = std::max(most, before - standing());
    before = standing();
  }
  EXPECT_EQ(standing(), 10U);
  EXPECT_EQ(most, 5U);
}

TEST_P(route_gone, counts_as_taken_away_though_the_answer_was_lost) {
  start_with(30);
  for (int i = 11; i <= 30; ++i) remove_node(i);
  cloud.faults.answers_lost = 1;
  pass(110s);  // Confirmed after a minute; the next five may go a minute after the first.
  EXPECT_EQ(standing(), 25U);
  pass(15min);
  EXPECT_EQ(standing(), 10U);
}

TEST_P(route_gone, that_is_withheld_costs_no_more_looks_than_one_that_stands) {
  cloud.route_tables.tells = false;
  start_with(3);
  remove_node(2);
  pass(30s);
  brakes.deletions_are_safe = fail(Outcome::busy, "the cloud contradicts the cluster");
  const std::size_t looks = cloud.route_tables.gets + cloud.routes.lists;
  pass(30min);
  EXPECT_LE(cloud.route_tables.gets + cloud.routes.lists, looks + 31);
  brakes.deletions_are_safe = {};
  pass(2min);
  EXPECT_EQ(routed(2), "");
}

// The process sees a Node with that CIDR, and not the third, which has its own all the time.
void route_gone::start_without_the_third(const std::string& cidr) {
  start_with(3);
  kill();
  remove_node(3);
  add_node(5, cidr);
  cloud.faults.error = Error{Outcome::lost, "cut"};
  start();
  pass(2s);
  api.frozen = true;
  add_node(3);
  cloud.faults = {};
}

TEST_P(route_gone, is_not_moved_while_another_node_that_is_not_seen_has_it) {
  start_without_the_third(R"("10.244.3.0/24")");
  pass(30s);
  EXPECT_EQ(routed(3), "3");
}

TEST_P(route_gone, is_not_cut_short_while_a_node_that_is_not_seen_has_it) {
  start_without_the_third(R"("10.244.3.64/26")");
  pass(30s);
  EXPECT_EQ(routed("10.244.3.64/26"), "");
  EXPECT_EQ(routed(3), "3");
  api.frozen = false;
  remove_node(3);
  api.bookmark();
  pass(5min);
  EXPECT_EQ(routed("10.244.3.64/26"), "5");
  EXPECT_EQ(routed(3), "")
      << "the Node that has part of it is seen now, and has a route of its own";
}

// ST-R1: the watched Nodes lack a third of what there is.
TEST_P(route_gone, stays_when_the_api_server_knows_nodes_that_the_watch_has_lost) {
  start_with(9);
  kill();
  for (int i = 7; i <= 9; ++i) remove_node(i);
  pass(1ms);
  start();
  pass(5s);
  // What this process sees is old from now on; the API server has all nine.
  api.frozen = true;
  for (int i = 7; i <= 9; ++i) add_node(i);
  pass(30min);
  EXPECT_EQ(standing(), 9U);
  api.frozen = false;
  api.bookmark();
  pass(5min);
  EXPECT_EQ(standing(), 9U);
  for (int i = 1; i <= 9; ++i) EXPECT_EQ(routed(i), std::to_string(i));
}

TEST_P(route_gone, stays_when_the_api_server_cannot_be_asked) {
  start_with(3);
  remove_node(2);
  api.inject(
      {.verb = Verb::list, .plural = "nodes", .error = {Outcome::lost, "cut"}, .times = 1000});
  pass(10min);
  EXPECT_EQ(routed(2), "2");
  add_node(9);
  pass(3min);
  EXPECT_EQ(routed(9), "9");
  api.heal();
  pass(5min);
  EXPECT_EQ(routed(2), "");
}

TEST_P(route_gone, outside_of_the_clusters_cidrs_is_not_ours_to_take) {
  start_with(2);
  for (const std::string_view text : {"10.0.0.0/8", "10.244.0.0/15", "192.168.0.0/24"}) {
    cloud.router.standing[parse_prefix(text).value()] = {.instance =
                                                             cloud::ProviderId{"isthmus", "9"}};
  }
  pass(30min);
  EXPECT_EQ(standing(), 5U);
}

TEST_P(route_gone, of_somebody_else_inside_the_clusters_cidrs_stays) {
  start_with(2);
  cloud.router.standing[parse_prefix("10.244.50.0/24").value()] = {.is_foreign = true};
  pass(30min);
  EXPECT_EQ(standing(), 3U);
}

// A cloud that does not know whose a next hop is says nothing about the machine.
TEST_P(route_gone, with_an_unknown_machine_is_judged_by_its_destination) {
  start_with(2);
  cloud.router.standing[parse_prefix("10.244.1.0/24").value()].instance = std::nullopt;
  pass(30min);
  EXPECT_EQ(routed(1) == "1" || routed(1) == "?", true);
  EXPECT_TRUE(measures("isthmus_routes_removed_total 0"));
}

}  // namespace
}  // namespace isthmus::controllers

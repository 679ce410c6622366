#include "isthmus/controllers/route_condition.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

kube::Node node_with(std::string status, std::string_view reason) {
  kube::Node node;
  node.conditions = {{"Ready", "True", "KubeletReady"},
                     {"NetworkUnavailable", std::move(status), std::string(reason)}};
  return node;
}

TEST(route_condition, is_written_where_there_is_none) {
  EXPECT_EQ(due_condition({}, Reach::reached), (RouteCondition{"False", "RouteCreated", true}));
  EXPECT_EQ(due_condition({}, Reach::not_reached),
            (RouteCondition{"True", "NoRouteCreated", true}));
}

TEST(route_condition, changes_its_time_only_with_its_status) {
  EXPECT_EQ(due_condition(node_with("True", kNoRouteCreated), Reach::reached),
            (RouteCondition{"False", "RouteCreated", true}));
  EXPECT_EQ(due_condition(node_with("True", kRouteCreated), Reach::not_reached),
            (RouteCondition{"True", "NoRouteCreated", false}));
}

TEST(route_condition, that_says_it_already_is_left_alone) {
  EXPECT_EQ(due_condition(node_with("False", kRouteCreated), Reach::reached), std::nullopt);
  EXPECT_EQ(due_condition(node_with("True", kNoRouteCreated), Reach::not_reached), std::nullopt);
}

TEST(route_condition, is_left_alone_while_nothing_is_known) {
  EXPECT_EQ(due_condition({}, Reach::unknown), std::nullopt);
  EXPECT_EQ(due_condition(node_with("True", kNoRouteCreated), Reach::unknown), std::nullopt);
}

TEST(route_condition, of_a_network_plugin_stays_as_it_is) {
  for (const Reach reach : {Reach::reached, Reach::not_reached}) {
    EXPECT_EQ(due_condition(node_with("True", "CalicoIsDown"), reach), std::nullopt);
    EXPECT_EQ(due_condition(node_with("False", "FlannelIsUp"), reach), std::nullopt);
  }
  EXPECT_EQ(other_owner(node_with("False", "FlannelIsUp")), "FlannelIsUp");
  EXPECT_EQ(other_owner(node_with("False", kRouteCreated)), std::nullopt);
  EXPECT_EQ(other_owner({}), std::nullopt);
}

}  // namespace
}  // namespace isthmus::controllers

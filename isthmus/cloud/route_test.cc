#include "isthmus/cloud/route.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

Route route() {
  return {.destination = parse_prefix("10.244.1.0/24").value(), .instance = {{"fake", "1"}}};
}

RouteState state() {
  return {.destination = parse_prefix("10.244.1.0/24").value(), .instance = {{"fake", "1"}}};
}

TEST(route_state, is_about_a_route_whatever_its_standing) {
  for (const auto standing : {RouteState::Standing::applied, RouteState::Standing::pending,
                              RouteState::Standing::conflict, RouteState::Standing::refused}) {
    RouteState one = state();
    one.standing = standing;
    EXPECT_TRUE(is_about(one, route())) << to_string(standing);
    EXPECT_FALSE(to_string(standing).empty());
  }
}

TEST(route_state, is_about_another_route_with_another_machine_or_next_hop_or_none) {
  RouteState other = state();
  other.instance = ProviderId{"fake", "2"};
  EXPECT_FALSE(is_about(other, route()));
  other.instance = std::nullopt;
  EXPECT_FALSE(is_about(other, route()));
  other = state();
  other.next_hop = parse_ip("10.0.0.1").value();
  EXPECT_FALSE(is_about(other, route()));
}

}  // namespace
}  // namespace isthmus::cloud

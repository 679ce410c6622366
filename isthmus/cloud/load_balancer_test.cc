#include "isthmus/cloud/load_balancer.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

TEST(load_balancer_spec, asks_for_one_ipv4_address_for_everyone_by_default) {
  const LoadBalancerSpec spec;
  EXPECT_EQ(spec.families, std::vector{IpFamily::v4});
  EXPECT_TRUE(spec.source_ranges.empty());
  EXPECT_FALSE(spec.health_check || spec.source_address);
}

TEST(load_balancer_spec, is_a_value_in_which_every_part_counts) {
  const LoadBalancerSpec spec{.name = "web", .targets = {{.name = "node1"}}};
  LoadBalancerSpec other = spec;
  EXPECT_EQ(other, spec);
  other.health_check = LoadBalancerSpec::HealthCheck{};
  EXPECT_NE(other, spec);
  other = spec;
  other.targets[0].addresses = {parse_ip("10.0.0.1").value()};
  EXPECT_NE(other, spec);
}

TEST(load_balancer_state, is_neither_settled_nor_known_to_be_well_before_a_cloud_says_so) {
  const LoadBalancerState state;
  EXPECT_FALSE(state.settled || state.is_leaving || state.must_be_passed);
  EXPECT_EQ(state.health, LoadBalancerState::Health::unknown);
  EXPECT_FALSE(state.targets);
}

}  // namespace
}  // namespace isthmus::cloud

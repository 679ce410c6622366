#include "isthmus/providers/fake/fake_changes.h"

#include <gtest/gtest.h>

namespace isthmus::providers::fake {
namespace {

TEST(fake_changes, name_the_part_and_both_values) {
  const cloud::LoadBalancerSpec before{.listeners = {{"http", cloud::Protocol::tcp, 80, 30080}}};
  cloud::LoadBalancerSpec after = before;
  EXPECT_TRUE(changes_of(before, after).empty());
  after.listeners[0].port = 81;
  after.affinity = cloud::LoadBalancerSpec::Affinity::client_ip;
  const auto changes = changes_of(before, after);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0], (cloud::LoadBalancerPreview::Change{"listeners", "http tcp/80 to 30080",
                                                            "http tcp/81 to 30080"}));
  EXPECT_EQ(changes[1].part, "affinity");
}

}  // namespace
}  // namespace isthmus::providers::fake

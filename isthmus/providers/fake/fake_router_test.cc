#include "isthmus/providers/fake/fake_router.h"

#include <vector>

#include <gtest/gtest.h>

namespace isthmus::providers::fake {
namespace {

TEST(fake_router, tells_of_every_change_what_was_and_what_is) {
  FakeRouter router;
  std::vector<std::pair<bool, bool>> told;
  router.on_change = [&](const IpPrefix&, const FakeRoute* before, const FakeRoute* after) {
    told.emplace_back(before != nullptr, after != nullptr);
  };
  const IpPrefix destination = parse_prefix("10.244.1.0/24").value();
  EXPECT_TRUE(router.put(destination, {.instance = {{"fake", "1"}}}));
  EXPECT_FALSE(router.put(destination, {.instance = {{"fake", "1"}}}));
  EXPECT_TRUE(router.put(destination, {.instance = {{"fake", "2"}}}));
  router.take(destination);
  router.take(destination);
  const std::vector<std::pair<bool, bool>> made_replaced_taken{
      {false, true}, {true, true}, {true, false}};
  EXPECT_EQ(told, made_replaced_taken);
}

}  // namespace
}  // namespace isthmus::providers::fake

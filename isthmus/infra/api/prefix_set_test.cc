#include "isthmus/infra/api/prefix_set.h"

#include <gtest/gtest.h>

#include "isthmus/infra/api/object_testing.h"

namespace isthmus::infra::api {
namespace {

TEST(prefix_set, finds_those_around_an_address_the_longest_first) {
  PrefixSet set;
  for (std::string_view text : {"10.0.0.0/8", "10.244.0.0/16", "10.244.1.0/24", "fd00::/8"}) {
    EXPECT_TRUE(set.insert(prefix(text)));
  }
  EXPECT_EQ(set.around(ip("10.244.1.9")),
            (std::vector{prefix("10.244.1.0/24"), prefix("10.244.0.0/16"), prefix("10.0.0.0/8")}));
  EXPECT_EQ(set.around(ip("10.9.9.9")), std::vector{prefix("10.0.0.0/8")});
  EXPECT_EQ(set.around(ip("fd77::1")), std::vector{prefix("fd00::/8")});
  EXPECT_TRUE(set.around(ip("192.0.2.1")).empty());
}

TEST(prefix_set, has_each_once) {
  PrefixSet set;
  EXPECT_TRUE(set.insert(prefix("10.0.0.0/8")));
  EXPECT_FALSE(set.insert(prefix("10.0.0.0/8")));
  EXPECT_TRUE(set.contains(prefix("10.0.0.0/8")));
  EXPECT_FALSE(set.contains(prefix("10.0.0.0/9")));
}

}  // namespace
}  // namespace isthmus::infra::api

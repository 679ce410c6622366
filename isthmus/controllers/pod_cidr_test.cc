#include "isthmus/controllers/pod_cidr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using ::testing::HasSubstr;

TEST(pod_cidr, is_the_same_however_it_is_spelled) {
  const IpPrefix canonical = parse_prefix("10.244.1.0/24").value();
  EXPECT_EQ(parse_pod_cidr("10.244.1.0/24").value(), canonical);
  EXPECT_EQ(parse_pod_cidr("10.244.1.7/24").value(), canonical);
  EXPECT_EQ(parse_pod_cidr("FD00:0:0:0:1::/64").value(),
            parse_pod_cidr("fd00:0:0:0:1:2::/64").value());
}

TEST(pod_cidr, that_is_none_is_invalid) {
  for (const std::string_view text :
       {"", "10.244.1.0", "10.244.1.0/", "10.244.1.0/33", "10.244.1.0/2x", "10.244.1.0/-1", "x/24",
        "0.0.0.0/0", "::/0", "::ffff:10.244.0.0/112", "fd00::/129"}) {
    EXPECT_EQ(parse_pod_cidr(text).outcome(), Outcome::invalid) << text;
  }
}

TEST(cluster_cidrs, are_none_one_or_one_of_each_family) {
  EXPECT_TRUE(parse_cluster_cidrs("")->empty());
  EXPECT_TRUE(parse_cluster_cidrs(" ")->empty());
  EXPECT_EQ(describe(parse_cluster_cidrs("10.244.0.0/16").value()), "10.244.0.0/16");
  EXPECT_EQ(describe(parse_cluster_cidrs("fd00:10:244::/56, 10.244.3.4/16").value()),
            "fd00:10:244::/56, 10.244.0.0/16");
}

TEST(cluster_cidrs, that_are_wrong_are_refused_with_everything_that_is_wrong) {
  EXPECT_THAT(parse_cluster_cidrs("10.244.0.0/16,10.245.0.0/16").error().message,
              HasSubstr("one of each family"));
  const auto wrong = parse_cluster_cidrs("10.244/16,fd00::/48,10.0.0.0/40");
  ASSERT_EQ(wrong.outcome(), Outcome::invalid);
  EXPECT_THAT(wrong.error().message, HasSubstr("\"10.244/16\" is no CIDR"));
  EXPECT_THAT(wrong.error().message, HasSubstr("\"10.0.0.0/40\" is no CIDR"));
  EXPECT_THAT(wrong.error().message, HasSubstr("one CIDR, or one of each family"));
}

TEST(prefixes, overlap_where_one_holds_the_other) {
  const auto both = [](std::string_view one, std::string_view other) {
    return overlap(parse_prefix(one).value(), parse_prefix(other).value());
  };
  EXPECT_TRUE(both("10.244.0.0/16", "10.244.3.0/24"));
  EXPECT_TRUE(both("10.244.3.0/24", "10.244.0.0/16"));
  EXPECT_FALSE(both("10.244.3.0/24", "10.244.4.0/24"));
  EXPECT_FALSE(both("10.244.3.0/24", "fd00::/48"));
}

}  // namespace
}  // namespace isthmus::controllers

#include "isthmus/cloud/ownership.h"

#include <gtest/gtest.h>

namespace isthmus::cloud {
namespace {

constexpr std::string_view kCluster = "0f6a1c9e-88d1-4a5b-9d5e-2f6f0c9a7b11";
constexpr std::string_view kService = "ffffffff-ffff-ffff-ffff-ffffffffffff";

TEST(cluster_uid, reads_a_uuid_of_either_case_as_the_same) {
  const Result<ClusterUid> lower = ClusterUid::parse(kCluster);
  const Result<ClusterUid> upper = ClusterUid::parse("0F6A1C9E-88D1-4A5B-9D5E-2F6F0C9A7B11");
  ASSERT_TRUE(lower && upper);
  EXPECT_EQ(*lower, *upper);
  EXPECT_EQ(lower->text(), kCluster);
}

TEST(cluster_uid, that_is_no_uuid_is_invalid) {
  for (const std::string_view text :
       {"", "prod", "0f6a1c9e88d14a5b9d5e2f6f0c9a7b11", "0f6a1c9e-88d1-4a5b-9d5e-2f6f0c9a7b1g",
        "0f6a1c9e-88d1-4a5b-9d5e-2f6f0c9a7b111"}) {
    EXPECT_EQ(ClusterUid::parse(text).outcome(), Outcome::invalid) << text;
  }
}

TEST(owned_name, is_stable_and_fits_a_dns_label) {
  const Result<ClusterUid> cluster = ClusterUid::parse(kCluster);
  const Result<std::string> name = owned_name("lb", *cluster, kService);
  ASSERT_TRUE(name);
  EXPECT_EQ(*name, "lb-0wup4oem04koikpai97vwyuj5-f5lxx1zz5pnorynqglhzmsp33");
  EXPECT_LE(owned_name("elevenchars", *cluster, kService)->size(), 63U);
}

TEST(owned_name, belongs_to_its_cluster_and_kind_only) {
  const Result<ClusterUid> cluster = ClusterUid::parse(kCluster);
  const Result<ClusterUid> other = ClusterUid::parse("0f6a1c9e-88d1-4a5b-9d5e-2f6f0c9a7b12");
  const Result<std::string> name = owned_name("lb", *cluster, kService);
  EXPECT_TRUE(is_owned_name(*name, "lb", *cluster));
  EXPECT_FALSE(is_owned_name(*name, "lb", *other));
  EXPECT_FALSE(is_owned_name(*name, "route", *cluster));
  EXPECT_FALSE(is_owned_name(*name + "x", "lb", *cluster));
}

TEST(cluster_name, is_the_cluster_s_own_and_no_object_s) {
  const Result<ClusterUid> cluster = ClusterUid::parse(kCluster);
  const std::string name = cluster_name("nodes", *cluster);
  EXPECT_EQ(name, "nodes-0wup4oem04koikpai97vwyuj5");
  EXPECT_FALSE(is_owned_name(name, "nodes", *cluster));
  EXPECT_TRUE(owned_name("nodes", *cluster, kService)->starts_with(name + "-"));
}

TEST(owned_name, of_an_object_without_a_uuid_is_invalid) {
  const Result<ClusterUid> cluster = ClusterUid::parse(kCluster);
  EXPECT_EQ(owned_name("lb", *cluster, "default/web").outcome(), Outcome::invalid);
}

}  // namespace
}  // namespace isthmus::cloud

#include "isthmus/controllers/route_live.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/kube/testing/fake_api.h"

namespace isthmus::controllers {
namespace {

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

struct route_live : testing::Test {
  void add(const std::string& name, const std::string& cidrs) {
    api.put(kube::Node::resource, fmt::format(R"({{"metadata": {{"name": "{}", "uid": "uid-{}"}},
                            "spec": {{"podCIDRs": [{}]}}}})",
                                              name, name, cidrs));
  }
  Result<LivePodCidrs> read() { return world.run(read_live_pod_cidrs(api)); }

  VirtualWorld world;
  kube::testing::FakeApi api{world.loop};
};

TEST_F(route_live, reads_every_page_of_the_nodes) {
  api.page_max = 2;
  for (int i = 0; i < 5; ++i) add(fmt::format("n{}", i), fmt::format("\"10.244.{}.0/24\"", i));
  const auto live = read();
  ASSERT_TRUE(live);
  EXPECT_EQ(live->nodes(), 5U);
  EXPECT_TRUE(live->any_unseen_overlaps(prefix("10.244.4.0/24"), {}));
  EXPECT_TRUE(live->any_unseen_overlaps(prefix("10.244.4.64/26"), {}));
  EXPECT_FALSE(live->any_unseen_overlaps(prefix("10.244.9.0/24"), {}));
}

TEST_F(route_live, knows_whose_a_cidr_is_whatever_its_spelling) {
  add("a", R"("10.244.1.9/24", "fd00:0:0:1::/64")");
  const auto live = read();
  const std::string uid(
      api.see(kube::Node::resource, {"", "a"}).at_pointer("/metadata/uid").as_string());
  EXPECT_TRUE(live->has(prefix("10.244.1.0/24"), uid));
  EXPECT_TRUE(live->has(prefix("fd00:0:0:1::/64"), uid));
  EXPECT_FALSE(live->has(prefix("10.244.1.0/24"), "another"));
}

TEST_F(route_live, knows_what_overlaps_by_nodes_that_were_not_seen) {
  LivePodCidrs live;
  live.add(prefix("10.244.0.0/16"), "wide");
  live.add(prefix("10.244.1.0/24"), "a");
  live.add(prefix("10.244.1.64/26"), "narrow");
  LivePodCidrs seen;
  EXPECT_FALSE(live.any_unseen_overlaps(prefix("10.245.1.0/24"), seen));
  seen.add(prefix("10.244.1.0/24"), "a");
  EXPECT_TRUE(live.any_unseen_overlaps(prefix("10.244.1.0/24"), seen));
  seen.add(prefix("10.244.0.0/16"), "wide");
  EXPECT_TRUE(live.any_unseen_overlaps(prefix("10.244.1.0/24"), seen));
  EXPECT_FALSE(live.any_unseen_overlaps(prefix("10.244.2.0/24"), seen));
  seen.add(prefix("10.244.9.0/24"), "narrow");
  EXPECT_TRUE(live.any_unseen_overlaps(prefix("10.244.1.0/24"), seen)) << "with another CIDR";
  seen.add(prefix("10.244.1.64/26"), "narrow");
  EXPECT_FALSE(live.any_unseen_overlaps(prefix("10.244.1.0/24"), seen));
}

TEST_F(route_live, answers_nothing_when_a_node_cannot_be_read) {
  add("a", R"("10.244.1.0/24")");
  api.put(kube::Node::resource, R"({"metadata": {"name": "b"}, "spec": {"podCIDRs": 7}})");
  EXPECT_EQ(read().outcome(), Outcome::lost);
}

TEST_F(route_live, passes_on_what_the_api_server_refuses) {
  api.inject({.verb = kube::testing::Verb::list, .error = {Outcome::denied, "no"}});
  EXPECT_EQ(read().outcome(), Outcome::denied);
}

}  // namespace
}  // namespace isthmus::controllers

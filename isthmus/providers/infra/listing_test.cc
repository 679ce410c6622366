#include "isthmus/providers/infra/listing.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/infra/server_testing.h"

namespace isthmus::providers::infra {
namespace {

namespace api = isthmus::infra::api;
using cloud::Completeness;
using testing::json_answer;
using testing::ready_balancer;

struct listing : ::testing::Test {
  void page(const std::string& query, std::vector<api::LoadBalancer> items, std::uint64_t revision,
            std::string next) {
    server.answer(
        "GET /v1/owners/prod/loadbalancers?limit=250" + query,
        json_answer(encode(api::LoadBalancerList{std::move(items), revision, std::move(next)})));
  }
  Result<BalancerListing> read() { return world.run(read_balancers(client, "prod")); }

  VirtualWorld world;
  testing::ScriptedServer server;
  ObjectsClient client{server, world.loop};
};

TEST_F(listing, reads_all_pages_of_one_revision) {
  page("", {ready_balancer("a"), ready_balancer("b")}, 5, "next");
  page("&continue=next", {ready_balancer("c")}, 5, "");
  const auto all = read();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->listing.items.size(), 3U);
  EXPECT_EQ(all->listing.items[2].name, "c");
  EXPECT_EQ(all->listing.completeness, Completeness::complete);
  EXPECT_EQ(all->revision, 5U);
}

TEST_F(listing, is_partial_when_pages_do_not_fit_together) {
  page("", {ready_balancer("a")}, 5, "next");
  page("&continue=next", {ready_balancer("b")}, 6, "");
  EXPECT_EQ(read()->listing.completeness, Completeness::partial);
  page("&continue=next", {ready_balancer("a")}, 5, "");
  EXPECT_EQ(read()->listing.completeness, Completeness::partial);
}

TEST_F(listing, leaves_out_what_is_somebody_elses_or_not_understood_and_is_partial) {
  api::LoadBalancer foreign = ready_balancer("b");
  foreign.metadata.owner = "test";
  page("", {ready_balancer("a"), foreign}, 5, "");
  EXPECT_EQ(read()->listing.completeness, Completeness::partial);
  EXPECT_EQ(read()->listing.items.size(), 1U);
  page("", {ready_balancer("a"), ready_balancer("../x")}, 5, "");
  EXPECT_EQ(read()->listing.completeness, Completeness::partial);
  EXPECT_EQ(read()->listing.items.size(), 1U);
}

TEST_F(listing, is_none_when_a_page_is_missing) {
  page("", {ready_balancer("a")}, 5, "next");
  server.answer("GET /v1/owners/prod/loadbalancers?limit=250&continue=next",
                testing::problem_answer(api::problem::revision_gone));
  EXPECT_EQ(read().outcome(), Outcome::conflict);
  server.answer("GET /v1/owners/prod/loadbalancers?limit=250&continue=next",
                testing::html_answer(200));
  EXPECT_EQ(read().outcome(), Outcome::lost);
}

TEST_F(listing, without_an_end_is_lost) {
  page("", {}, 5, "next");
  page("&continue=next", {}, 5, "next");
  EXPECT_EQ(read().outcome(), Outcome::lost);
}

}  // namespace
}  // namespace isthmus::providers::infra

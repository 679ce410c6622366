#include "isthmus/controllers/route_removals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;

constexpr Moment kStart = Moment(std::chrono::hours(1));

cloud::RouteState route(unsigned number, std::string machine = "1") {
  return {.destination = parse_prefix(fmt::format("10.244.{}.0/24", number)).value(),
          .instance = cloud::ProviderId{"fake", std::move(machine)}};
}
std::vector<cloud::RouteState> routes(unsigned count) {
  std::vector<cloud::RouteState> all;
  for (unsigned i = 0; i < count; ++i) all.push_back(route(i));
  return all;
}

struct route_removals : testing::Test {
  std::size_t pass(const std::vector<cloud::RouteState>& ownerless, std::size_t total,
                   Duration at) {
    return removals.pass(ownerless, total, kStart + at).size();
  }
  RouteRemovals removals{{}};
};

TEST_F(route_removals, take_two_passes_a_minute_apart) {
  EXPECT_EQ(pass({route(1)}, 10, 0s), 0U);
  EXPECT_EQ(removals.next_pass(), kStart + 60s);
  EXPECT_EQ(pass({route(1)}, 10, 59s), 0U);
  EXPECT_EQ(pass({route(1)}, 10, 60s), 1U);
}

TEST_F(route_removals, begin_anew_when_a_route_had_a_node_in_between_or_became_another) {
  pass({route(1), route(2)}, 10, 0s);
  pass({route(2)}, 10, 30s);
  EXPECT_EQ(pass({route(1), route(2, "7")}, 10, 60s), 0U);
  EXPECT_EQ(pass({route(1), route(2, "7")}, 10, 119s), 0U);
  EXPECT_EQ(pass({route(1), route(2, "7")}, 10, 120s), 2U);
}

TEST_F(route_removals, begin_anew_for_a_route_whose_node_was_only_not_seen) {
  pass({route(1), route(2)}, 10, 0s);
  removals.acquit(route(1).destination);
  const auto due = removals.pass({route(1), route(2)}, 10, kStart + 60s);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].destination, route(2).destination);
}

TEST_F(route_removals, are_five_at_a_time_or_a_tenth_of_all_and_a_minute_apart) {
  pass(routes(40), 40, 0s);
  EXPECT_EQ(pass(routes(40), 40, 60s), 5U);
  removals.removed(kStart + 60s);
  EXPECT_EQ(pass(routes(35), 35, 119s), 0U);
  EXPECT_EQ(removals.next_pass(), kStart + 120s);
  EXPECT_EQ(pass(routes(35), 35, 120s), 5U);
  RouteRemovals of_many{{}};
  of_many.pass(routes(200), 200, kStart);
  EXPECT_EQ(of_many.pass(routes(200), 200, kStart + 60s).size(), 20U);
}

TEST_F(route_removals, are_nobodys_business_when_every_route_has_its_node) {
  pass({}, 10, 0s);
  EXPECT_EQ(removals.next_pass(), std::nullopt);
  EXPECT_EQ(removals.suspects(), 0U);
}

}  // namespace
}  // namespace isthmus::controllers

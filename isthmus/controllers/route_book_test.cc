#include "isthmus/controllers/route_book.h"

#include <gtest/gtest.h>

namespace isthmus::controllers {
namespace {

using namespace std::chrono_literals;
using Standing = cloud::RouteState::Standing;

constexpr Moment kStart = Moment(std::chrono::hours(1));

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

cloud::RouteState state(std::string_view destination, Standing standing,
                        std::string machine = "1") {
  return {.destination = prefix(destination),
          .instance = cloud::ProviderId{"fake", std::move(machine)},
          .standing = standing};
}

cloud::RouteTableState table(std::vector<cloud::RouteState> routes) {
  return {.name = "pods", .routes = std::move(routes), .settled = true, .generation = 4};
}

struct route_book : testing::Test {
  Standing standing(std::string_view destination) {
    return book.find(prefix(destination))->standing;
  }
  RouteBook book;
};

TEST_F(route_book, takes_a_route_that_stood_for_standing_until_it_was_looked_at_again) {
  book.learn(table({state("10.244.1.0/24", Standing::applied)}));
  book.learn(table({state("10.244.1.0/24", Standing::pending)}));
  EXPECT_EQ(standing("10.244.1.0/24"), Standing::applied);
  cloud::RouteState down = state("10.244.1.0/24", Standing::pending);
  down.reason = "LinkDown";
  book.learn(table({down}));
  EXPECT_EQ(standing("10.244.1.0/24"), Standing::pending);
}

TEST_F(route_book, takes_no_route_to_another_machine_for_the_one_that_stood) {
  book.learn(table({state("10.244.1.0/24", Standing::applied)}));
  book.learn(table({state("10.244.1.0/24", Standing::pending, "2")}));
  EXPECT_EQ(standing("10.244.1.0/24"), Standing::pending);
}

TEST_F(route_book, remembers_what_was_refused_and_asks_for_it_again_after_a_while) {
  const cloud::RouteTableSpec spec{.name = "pods"};
  book.learn_ensured(spec,
                     table({state("10.244.1.0/24", Standing::applied),
                            state("10.244.2.0/24", Standing::refused, "2")}),
                     kStart);
  book.learn(table({state("10.244.1.0/24", Standing::applied)}));
  EXPECT_EQ(standing("10.244.2.0/24"), Standing::refused);
  EXPECT_EQ(book.all().size(), 1U);
  EXPECT_TRUE(book.is_as_asked(spec, kStart + 9min));
  EXPECT_FALSE(book.is_as_asked(spec, kStart + 10min));
}

TEST_F(route_book, sees_that_somebody_else_changed_the_table) {
  EXPECT_FALSE(book.was_changed_by_others());
  const cloud::RouteTableSpec spec{.name = "pods"};
  book.learn_ensured(spec, table({}), kStart);
  EXPECT_FALSE(book.was_changed_by_others());
  cloud::RouteTableState changed = table({});
  changed.generation = 5;
  book.learn(changed);
  EXPECT_TRUE(book.was_changed_by_others());
  EXPECT_FALSE(book.is_as_asked(spec, kStart));
  book.learn_ensured(spec, changed, kStart);
  book.learn(std::optional<cloud::RouteTableState>());
  EXPECT_TRUE(book.was_changed_by_others());
  EXPECT_FALSE(book.stands);
}

TEST_F(route_book, forgets_a_failure_when_the_route_is_there_after_all) {
  book.failed.emplace(prefix("10.244.1.0/24"), state("10.244.1.0/24", Standing::pending));
  book.failed.emplace(prefix("10.244.2.0/24"), state("10.244.2.0/24", Standing::conflict));
  book.learn(cloud::Listing<cloud::RouteState>{
      {state("10.244.1.0/24", Standing::applied), state("10.244.2.0/24", Standing::applied, "7")},
      cloud::Completeness::complete});
  EXPECT_EQ(standing("10.244.1.0/24"), Standing::applied);
  EXPECT_EQ(standing("10.244.2.0/24"), Standing::conflict);
}

TEST_F(route_book, reads_out_of_a_partial_listing_only_what_is_there) {
  book.learn(cloud::Listing<cloud::RouteState>{
      {state("10.244.1.0/24", Standing::applied), state("10.244.2.0/24", Standing::applied)},
      cloud::Completeness::complete});
  book.learn(cloud::Listing<cloud::RouteState>{{state("10.244.1.0/24", Standing::applied, "7")},
                                               cloud::Completeness::partial});
  EXPECT_EQ(book.all().size(), 2U);
  EXPECT_EQ(book.find(prefix("10.244.1.0/24"))->instance->id, "7");
  EXPECT_FALSE(book.is_complete);
}

}  // namespace
}  // namespace isthmus::controllers

#include "isthmus/providers/fake/fake_routes.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/providers/fake/fake_provider.h"

namespace isthmus::providers::fake {
namespace {

IpPrefix prefix(std::string_view text) { return parse_prefix(text).value(); }

struct fake_routes : testing::Test {
  cloud::Listing<cloud::RouteState> list() { return world.run(cloud.routes.list()).value(); }

  VirtualWorld world;
  FakeProvider cloud;
  const cloud::Route route{.destination = prefix("10.244.1.0/24"), .instance = {{"fake", "1"}}};
};

TEST_F(fake_routes, are_made_once_replaced_and_released) {
  EXPECT_TRUE(world.run(cloud.routes.ensure(route)));
  EXPECT_TRUE(world.run(cloud.routes.ensure(route)));
  EXPECT_EQ(cloud.routes.writes, 1U);
  cloud::Route moved = route;
  moved.instance->id = "2";
  EXPECT_TRUE(world.run(cloud.routes.ensure(moved)));
  ASSERT_EQ(list().items.size(), 1U);
  const cloud::RouteState now = list().items[0];
  EXPECT_TRUE(cloud::is_about(now, moved));
  EXPECT_EQ(now.standing, cloud::RouteState::Standing::applied);
  EXPECT_TRUE(world.run(cloud.routes.release(now)));
  EXPECT_TRUE(world.run(cloud.routes.release(now)));
  EXPECT_TRUE(list().items.empty());
}

TEST_F(fake_routes, of_others_keep_their_place_and_are_marked_where_the_cloud_can) {
  cloud.router.standing[route.destination] = {.is_foreign = true};
  EXPECT_EQ(world.run(cloud.routes.ensure(route)).outcome(), Outcome::conflict);
  EXPECT_TRUE(list().items[0].is_foreign);
  cloud.routes.marks = false;
  EXPECT_FALSE(list().items[0].is_foreign);
}

TEST_F(fake_routes, that_changed_since_they_were_listed_are_not_released) {
  EXPECT_TRUE(world.run(cloud.routes.ensure(route)));
  const cloud::RouteState listed = list().items[0];
  cloud.router.standing[route.destination].instance = cloud::ProviderId{"fake", "2"};
  EXPECT_EQ(world.run(cloud.routes.release(listed)).outcome(), Outcome::conflict);
  EXPECT_EQ(list().items.size(), 1U);
}

TEST_F(fake_routes, may_be_listed_in_part_lost_on_the_way_or_refused) {
  cloud.faults.answers_lost = 1;
  EXPECT_EQ(world.run(cloud.routes.ensure(route)).outcome(), Outcome::lost);
  EXPECT_EQ(list().items.size(), 1U);
  cloud.faults.list_only = 0;
  EXPECT_EQ(list().completeness, cloud::Completeness::partial);
  cloud.routes.refused = {prefix("10.244.2.0/24")};
  EXPECT_EQ(world.run(cloud.routes.ensure({.destination = prefix("10.244.2.0/24")})).outcome(),
            Outcome::invalid);
}

}  // namespace
}  // namespace isthmus::providers::fake

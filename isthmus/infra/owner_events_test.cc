#include "isthmus/infra/owner_events.h"

#include <gtest/gtest.h>

#include "isthmus/infra/ledger_upkeep.h"
#include "isthmus/infra/object_api_testing.h"

namespace isthmus::infra {
namespace {

using Type = api::WatchEvent::Type;

class owner_events : public ObjectApiFixture {
 protected:
  // What a watch of prod tells of everything after the revision.
  std::vector<api::WatchEvent> told_after(Revision from, std::string owner = "prod") {
    OwnerEvents source(ledger, owners, world.loop, std::move(owner), false);
    Changes changes = world.run(store->watch("", from, 1000)).value();
    return world.run(source.events_of(std::move(changes), from)).value();
  }
  Revision now() { return world.run(ledger.latest()).value()->revision; }
};

TEST_F(owner_events, a_new_load_balancer_is_told_with_its_address) {
  const Revision before = now();
  put_balancer("web");
  auto events = told_after(before);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].revision, before);
  EXPECT_EQ(events[1].revision, now());
  const auto& address = events[0].address ? events[0].address : events[1].address;
  const auto& balancer = events[0].address ? events[1].load_balancer : events[0].load_balancer;
  ASSERT_TRUE(address && balancer);
  EXPECT_EQ(address->holders, (std::vector<std::string>{"web"}));
  EXPECT_EQ(balancer->status.addresses, (std::vector<IpAddress>{address->address}));
}

TEST_F(owner_events, a_status_is_told_as_its_load_balancer_and_once_for_all_that_changed) {
  put_balancer("web");
  const Revision before = now();
  put_balancer("web", 81);
  report("web", "Ready", api::ConditionStatus::is_true);
  auto events = told_after(before);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, Type::changed);
  EXPECT_EQ(events[0].revision, now());
  EXPECT_EQ(events[0].load_balancer->metadata.generation, 2u);
  EXPECT_EQ(find(events[0].load_balancer->status.conditions, "Ready")->status,
            api::ConditionStatus::is_true);
}

TEST_F(owner_events, what_is_gone_is_told_with_its_last_value) {
  put_balancer("web");
  ask("PUT", set_path("nodes"), set_body());
  ask("DELETE", path("web"));
  const Revision before = now();
  ask("DELETE", set_path("nodes"));
  ASSERT_TRUE(world.run(ledger.finalize({{"prod", "web"}})));
  auto events = told_after(before);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].type, Type::removed);
  EXPECT_EQ(events[0].target_set->metadata.name, "nodes");
  for (const api::WatchEvent& event : events) {
    if (event.load_balancer) EXPECT_EQ(event.type, Type::removed);
    if (event.address) EXPECT_EQ(event.address->state, api::AllocatedAddress::State::cooling);
  }
}

TEST_F(owner_events, an_address_that_has_cooled_down_is_told_as_removed_to_quick_and_slow_readers) {
  put_balancer("web");
  ask("DELETE", path("web"));
  ASSERT_TRUE(world.run(ledger.finalize({{"prod", "web"}})));
  const Revision cooling = now();
  auto removed_addresses = [&] {
    std::size_t count = 0;
    for (const api::WatchEvent& event : told_after(cooling)) {
      count += event.address && event.type == Type::removed;
    }
    return count;
  };
  world.advance(std::chrono::minutes(5));
  ASSERT_TRUE(world.run(ledger.forget()));
  EXPECT_EQ(removed_addresses(), 1u);
  world.advance(kFreeAge);
  ASSERT_TRUE(world.run(ledger.forget()));
  EXPECT_TRUE(world.run(ledger.latest()).value()->addresses.empty());
  EXPECT_EQ(removed_addresses(), 1u);
}

TEST_F(owner_events, another_owner_is_told_nothing_of_it_but_of_the_pools_it_may_use) {
  const Revision before = now();
  put_balancer("web");
  EXPECT_TRUE(told_after(before, "test").empty());
  api::Pool pool = a_pool("public", {"192.0.2.0/28"});
  ASSERT_TRUE(world.run(ledger.load_pools({pool})));
  auto events = told_after(before, "test");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].pool->ranges, pool.ranges);
  EXPECT_TRUE(events[0].pool->use.empty()) << "it would be old with the next address";
  bool removed = false;
  for (const api::WatchEvent& event : told_after(before)) {
    if (event.pool && event.pool->name == "private") removed = event.type == Type::removed;
  }
  EXPECT_TRUE(removed);
}

}  // namespace
}  // namespace isthmus::infra

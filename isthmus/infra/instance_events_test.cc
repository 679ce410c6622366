#include "isthmus/infra/instance_events.h"

#include <gtest/gtest.h>

#include "isthmus/base/virtual_world.h"
#include "isthmus/infra/store/sqlite_store.h"

namespace isthmus::infra {
namespace {

using Type = api::WatchEvent::Type;

class instance_events : public testing::Test {
 protected:
  Result<std::vector<api::WatchEvent>> told(std::vector<Change> changes, Revision before) {
    return world.run(source.events_of({std::move(changes), 9}, before));
  }
  static Change change(std::string uid, api::State state, Revision revision) {
    InstanceRecord record;
    record.instance.uid = record.instance.name = uid;
    record.instance.state = state;
    if (state == api::State::retired) record.instance.presence = api::Presence::absent;
    return {instance_key(uid), encode(record), revision};
  }

  VirtualWorld world;
  std::unique_ptr<Store> store = open_sqlite_store(":memory:").value();
  Instances instances{*store, world.loop};
  InstanceEvents source{instances};
};

TEST_F(instance_events, all_but_the_last_of_a_commit_carry_the_revision_before) {
  auto events = told({change("a", api::State::active, 7), change("b", api::State::active, 7),
                      change("c", api::State::retired, 8)},
                     5)
                    .value();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].revision, 5u);
  EXPECT_EQ(events[1].revision, 7u);
  EXPECT_EQ(events[2].revision, 8u);
  EXPECT_EQ(events[1].type, Type::changed);
  EXPECT_EQ(events[2].type, Type::removed);
  EXPECT_EQ(events[2].instance->uid, "c");
}

TEST_F(instance_events, a_damaged_record_is_lost) {
  EXPECT_EQ(told({{"instances/a", "rubbish", 7}}, 5).outcome(), Outcome::lost);
  EXPECT_TRUE(told({{"instances/a", std::nullopt, 7}}, 5)->empty());
}

}  // namespace
}  // namespace isthmus::infra
